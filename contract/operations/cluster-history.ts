import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { integer, listOf, text } from "../caps.ts";
import { hookEvents } from "../hooks.ts";
import { ClusterEventRecord, CostReportRecord, JobExitCode } from "../records/clusters.ts";
import { Bytes, body, flag, optional, query, queryBoolean, queryInteger } from "./fields.ts";

const pastToo = text.describe("Cluster, live or past.");
const reading = {
  follow: z.boolean().default(true).describe("Keep reading while the hooks run."),
  tail: integer.default(0).describe("Last n lines; 0 is everything."),
};

/** What clusters did and cost, also those that are gone. */
export const clusterHistoryOperations = requestsOf("", {
  provisionLogs: {
    route: "POST /provision_logs",
    mode: "stream",
    summary: "Stream the provisioning log of a cluster's latest launch.",
    access: "viewer",
    input: {
      ...query({
        follow: queryBoolean(true).describe("Keep streaming while the launch runs."),
        tail: queryInteger().default(0).describe("Last n lines; 0 is everything."),
      }),
      ...body("ProvisionLogsBody", {
        cluster_name: pastToo,
        worker: optional(integer).describe("Rank of a node; null is the head."),
      }),
    },
    output: Bytes,
    errors: ["NotFoundError", "ValueError"],
    printsErrors: true,
  },
  autostopLogs: {
    route: "POST /autostop_logs",
    // Existing clients read this answer to its end before they ask for the request's log.
    summary:
      "Print the log of the hooks that ran before the latest idle action; where there is none, say so and leave 102.",
    access: "viewer",
    input: body("AutostopLogsBody", { cluster_name: pastToo, ...reading }),
    output: JobExitCode,
    errors: ["ClusterDoesNotExist"],
  },
  hookLogs: {
    route: "POST /hook_logs",
    summary: "Print the log of a cluster's hooks, also once the cluster is gone.",
    access: "viewer",
    input: body("HookLogsBody", {
      cluster_name: pastToo,
      event: optional(z.enum(hookEvents)).describe(
        "Null is the one that hooks run for, else the newest.",
      ),
      autostop: flag.describe("Only of what autostop began or whose own hook ran."),
      ...reading,
    }),
    output: JobExitCode,
    errors: ["ClusterDoesNotExist", "NotFoundError"],
  },
  costReport: {
    route: "POST /cost_report",
    reads: true,
    summary: "Show the cost of current and past clusters.",
    access: "viewer",
    input: body("CostReportBody", {
      days: integer.nullable().default(30).describe("How many days back past clusters go."),
      cluster_hashes: optional(listOf(text)).describe("Only these clusters."),
      exclude_managed_clusters: flag.describe("Leave out clusters of jobs and services."),
      dashboard_summary_response: flag.describe("Shorter rows."),
    }),
    output: z.array(CostReportRecord),
  },
  clusterEvents: {
    route: "POST /cluster_events",
    reads: true,
    summary: "What happened to a cluster, live or past.",
    access: "viewer",
    input: body("ClusterEventsBody", {
      cluster_name: optional(text).describe("Exactly one of this and cluster_hash."),
      cluster_hash: optional(text),
      event_type: text.describe(
        "Any of STATUS_CHANGE, DEBUG and TERMINAL, separated by commas; NOTEWORTHY is STATUS_CHANGE and the important part of DEBUG.",
      ),
      include_timestamps: flag.describe("Objects instead of bare texts."),
      limit: optional(integer).describe("Only the newest n."),
    }),
    output: z.union([z.array(z.string()), z.array(ClusterEventRecord)]),
    errors: ["ValueError"],
  },
});
