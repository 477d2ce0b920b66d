import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { type Bound, bind } from "../bind.ts";
import { download, downloadLogs } from "./download.ts";
import { checkExec, exec } from "./exec.ts";
import { clusterEvents, costReport, provisionLogs } from "./history.ts";
import { autostopLogs, hookLogs } from "./hooks/logs.ts";
import { cancel, jobStatus, queue } from "./jobs.ts";
import { checkLaunch, launch } from "./launch.ts";
import { down, start, stop } from "./lifecycle.ts";
import { logs } from "./logs.ts";
import { preempt } from "./preempt.ts";
import { autostop, checkAutostop } from "./set-autostop.ts";
import { openSsh } from "./ssh-door/open.ts";
import { endpoints, status } from "./status.ts";

/** Clusters: their life, their jobs, what they wrote, did and cost. */
export const clusterOperations: Bound[] = [
  bind(rows.launch, launch, checkLaunch),
  bind(rows.exec, exec, checkExec),
  bind(rows.start, start),
  bind(rows.stop, stop),
  bind(rows.down, down),
  bind(rows.preempt, preempt),
  bind(rows.autostop, autostop, checkAutostop),
  bind(rows.status, status),
  bind(rows.endpoints, endpoints),
  bind(rows.ssh, openSsh),
  bind(rows.queue, queue),
  bind(rows.jobStatus, jobStatus),
  bind(rows.cancel, cancel),
  bind(rows.logs, logs),
  bind(rows.downloadLogs, downloadLogs),
  bind(rows.download, download),
  bind(rows.provisionLogs, provisionLogs),
  bind(rows.autostopLogs, autostopLogs),
  bind(rows.hookLogs, hookLogs),
  bind(rows.costReport, costReport),
  bind(rows.clusterEvents, clusterEvents),
];
