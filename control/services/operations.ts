import { poolOperations as poolRows } from "../../contract/operations/pools.ts";
import { serveOperations as rows } from "../../contract/operations/serve.ts";
import { type Bound, bind } from "../bind.ts";
import { checkDown, down } from "./down.ts";
import { downloadLogs, downloadPoolLogs } from "./logs/download.ts";
import { checkLogs, checkPoolLogs, logs, poolLogs } from "./logs/logs.ts";
import { apply, checkApply } from "./pools/apply.ts";
import { checkDown as checkPoolDown, down as poolDown } from "./pools/down.ts";
import { terminateReplica } from "./replicas/terminate.ts";
import { poolStatus, status } from "./status.ts";
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

/** Pools: workers that are kept warm for managed jobs. */
export const poolOperations: Bound[] = [
  bind(poolRows.apply, apply, checkApply),
  bind(poolRows.down, poolDown, checkPoolDown),
  bind(poolRows.status, poolStatus),
  bind(poolRows.logs, poolLogs, checkPoolLogs),
  bind(poolRows.downloadLogs, downloadPoolLogs),
];
