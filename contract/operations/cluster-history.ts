import * as z from "zod";
import { type Operation, operation } from "../../common/operation.ts";
import { ClusterEventRecord, CostReportRecord, JobExitCode } from "../records/clusters.ts";
import { Bytes, body, optional, query, queryBoolean, queryInteger } from "./fields.ts";

const clusterName = z.string().describe("Target cluster.");
const flag = z.boolean().default(false);

/** What clusters did and cost, also those that are gone. */
export const clusterHistoryOperations = {
  provisionLogs: operation({
    name: "provision_logs",
    route: "POST /provision_logs",
    mode: "stream",
    summary: "Stream the provisioning log of a cluster's latest launch.",
    access: "any",
    input: {
      ...query({
        follow: queryBoolean(true).describe("Keep streaming while the launch runs."),
        tail: queryInteger.default(0).describe("Last n lines; 0 is everything."),
      }),
      ...body("ProvisionLogsBody", {
        cluster_name: z.string().describe("Cluster, live or past."),
        worker: optional(z.int()).describe("Rank of a node; null is the head."),
      }),
    },
    output: Bytes,
    errors: ["NotFoundError", "ValueError"],
  }),
  autostopLogs: operation({
    name: "autostop_logs",
    route: "POST /autostop_logs",
    // Existing clients read this answer to its end before they ask for the request's log.
    mode: "async",
    queue: "short",
    summary: "Stream the log of the hooks that run before the idle action.",
    access: "any",
    input: body("AutostopLogsBody", {
      cluster_name: clusterName,
      follow: z.boolean().default(true).describe("Keep streaming."),
      tail: z.int().default(0).describe("Last n lines; 0 is everything."),
    }),
    output: JobExitCode,
    errors: ["ClusterDoesNotExist", "ClusterNotUpError"],
  }),
  costReport: operation({
    name: "cost_report",
    route: "POST /cost_report",
    mode: "async",
    queue: "short",
    summary: "What live and past clusters cost.",
    access: "any",
    input: body("CostReportBody", {
      days: z.int().nullable().default(30).describe("How many days back past clusters go."),
      cluster_hashes: optional(z.array(z.string())).describe("Only these clusters."),
      dashboard_summary_response: flag.describe("Shorter rows."),
    }),
    output: z.array(CostReportRecord),
  }),
  clusterEvents: operation({
    name: "cluster_events",
    route: "POST /cluster_events",
    mode: "async",
    queue: "short",
    summary: "What happened to a cluster, live or past.",
    access: "any",
    input: body("ClusterEventsBody", {
      cluster_name: optional(z.string()).describe("Exactly one of this and cluster_hash."),
      cluster_hash: optional(z.string()),
      event_type: z.string().describe("STATUS_CHANGE, DEBUG or TERMINAL."),
      include_timestamps: flag.describe("Objects instead of bare texts."),
      limit: optional(z.int()).describe("Only the newest n."),
    }),
    output: z.union([z.array(z.string()), z.array(ClusterEventRecord)]),
    errors: ["ValueError"],
  }),
} satisfies Record<string, Operation>;
