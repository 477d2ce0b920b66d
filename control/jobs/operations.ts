import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { type Bound, bind } from "../bind.ts";
import { cancel, checkCancel } from "./cancel.ts";
import { downloadLogs } from "./download.ts";
import { events } from "./events.ts";
import { checkLaunch, launch } from "./launch.ts";
import { logs } from "./logs.ts";
import { checkQueue, queue, queueV2 } from "./queue.ts";
import { wait } from "./wait.ts";

/** Managed jobs: each on clusters that are made, replaced and deleted for it. */
export const jobOperations: Bound[] = [
  bind(rows.launch, launch, checkLaunch),
  bind(rows.queue, queue),
  bind(rows.queueV2, queueV2, checkQueue),
  bind(rows.wait, wait),
  bind(rows.cancel, cancel, checkCancel),
  bind(rows.logs, logs),
  bind(rows.downloadLogs, downloadLogs),
  bind(rows.events, events),
];
