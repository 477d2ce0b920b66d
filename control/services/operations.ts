import { serveOperations as rows } from "../../contract/operations/serve.ts";
import { type Bound, bind } from "../bind.ts";
import { checkDown, down } from "./down.ts";
import { downloadLogs } from "./logs/download.ts";
import { checkLogs, logs } from "./logs/logs.ts";
import { terminateReplica } from "./replicas/terminate.ts";
import { status } from "./status.ts";
import { checkUp, up } from "./up.ts";
import { checkUpdate, update } from "./update.ts";

/** Services: an endpoint that is kept alive, a cluster behind each replica. */
export const serviceOperations: Bound[] = [
  bind(rows.up, up, checkUp),
  bind(rows.update, update, checkUpdate),
  bind(rows.down, down, checkDown),
  bind(rows.terminateReplica, terminateReplica),
  bind(rows.status, status),
  bind(rows.logs, logs, checkLogs),
  bind(rows.downloadLogs, downloadLogs),
];
