import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { filePath, integer, listOf, poolText, text } from "../caps.ts";
import { ServiceComponent, ServiceStatusRecord, UpdateMode } from "../records/services.ts";
import { mostMachines } from "../task/readers.ts";
import { body, flag, Nothing, nullable, optional, taskErrors } from "./fields.ts";

const poolName = text.describe("Pool.");
const poolNames = nullable(z.union([text, listOf(text)]));
const tail = optional(integer).describe("Last n lines; null is everything.");

/** Pools: clusters that are kept warm for managed jobs. */
export const poolOperations = requestsOf("jobs.pool_", {
  apply: {
    route: "POST /jobs/pool_apply",
    queue: "long",
    summary: "Create a pool, change it or resize it.",
    access: "user",
    about: { newPool: "pool_name" },
    input: body("JobsPoolApplyBody", {
      task: optional(poolText).describe("One task with a pool section as YAML text."),
      workers: optional(integer.max(mostMachines)).describe(
        "New number of workers when task is null.",
      ),
      pool_name: poolName,
      mode: UpdateMode,
    }),
    output: Nothing,
    errors: [...taskErrors, "NotFoundError", "ConflictError"],
  },
  down: {
    route: "POST /jobs/pool_down",
    summary: "Take pools down.",
    access: "user",
    input: body("JobsPoolDownBody", {
      pool_names: poolNames.describe("Names or patterns; exactly one of this and all."),
      all: flag.describe("Every pool."),
      purge: flag.describe("Also pools that failed or have jobs, which are cancelled."),
    }),
    output: Nothing,
    errors: ["ValueError", "ConflictError", "RuntimeError", "ClusterNotUpError"],
  },
  status: {
    route: "POST /jobs/pool_status",
    reads: true,
    summary: "Pools and their workers.",
    access: "viewer",
    input: body("JobsPoolStatusBody", { pool_names: poolNames.describe("Null is all.") }),
    output: z.array(ServiceStatusRecord),
    errors: ["ClusterNotUpError"],
  },
  logs: {
    route: "POST /jobs/pool_logs",
    mode: "log",
    resultNeedsFollow: true,
    summary: "Stream the log of a pool or of one worker.",
    access: "viewer",
    about: { pool: "pool_name" },
    input: body("JobsPoolLogsBody", {
      pool_name: poolName,
      target: ServiceComponent.describe("A pool has no load_balancer."),
      worker_id: optional(integer).describe("Needed for replica."),
      follow: z.boolean().default(true).describe("Keep streaming."),
      tail,
    }),
    output: Nothing,
    errors: ["ValueError", "NotFoundError", "ClusterNotUpError"],
  },
  downloadLogs: {
    name: "jobs.pool_sync_down_logs",
    route: "POST /jobs/pool_sync-down-logs",
    summary: "Copy logs of a pool to control, ready for /download.",
    access: "viewer",
    about: { pool: "pool_name" },
    input: body("JobsPoolDownloadLogsBody", {
      pool_name: poolName,
      local_dir: filePath.describe("Ignored."),
      targets: nullable(z.union([ServiceComponent, listOf(ServiceComponent)])).describe(
        "Null or empty is all.",
      ),
      worker_ids: optional(listOf(integer)).describe("Null or empty: all that exist."),
      tail,
    }),
    output: z.string().describe("Folder on control."),
    errors: ["ValueError", "NotFoundError", "ClusterNotUpError"],
  },
});
