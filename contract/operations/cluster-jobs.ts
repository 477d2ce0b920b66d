import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { byteCount, filePath, integer, listOf, taskText, text } from "../caps.ts";
import { mostStretches, Stretch } from "../files-api.ts";
import { ClusterJobRecord, JobExitCode, LaunchResult } from "../records/clusters.ts";
import { jobMachine } from "../statuses.ts";
import {
  Bytes,
  body,
  cancelStop,
  flag,
  logInstants,
  Nothing,
  nullable,
  optional,
  query,
} from "./fields.ts";

const clusterName = text.describe("Target cluster.");
const clusterErrors = ["ClusterDoesNotExist", "ClusterNotUpError", "NotSupportedError"] as const;

/** Jobs on a cluster, and what they wrote. */
export const clusterJobOperations = requestsOf("", {
  exec: {
    route: "POST /exec",
    queue: "long",
    summary: "Run a task on a cluster that is up.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: body("ExecBody", {
      task: taskText.describe("One task as YAML text; of its files only workdir is synced."),
      cluster_name: clusterName,
      dryrun: flag.describe("Plan only."),
      down: flag.describe("Tear the cluster down when the job is over."),
      cancel_stop: cancelStop,
      backend: optional(text).describe("Null is the usual one."),
    }),
    output: LaunchResult,
    errors: [
      ...clusterErrors,
      "ClusterOwnerIdentityMismatchError",
      "ValueError",
      "InvalidTaskError",
      "ResourcesMismatchError",
      "RequestCancelled",
    ],
  },
  queue: {
    route: "POST /queue",
    reads: true,
    summary: "List the jobs of a cluster.",
    access: "viewer",
    about: { cluster: "cluster_name" },
    input: body("QueueBody", {
      cluster_name: clusterName,
      skip_finished: flag.describe("Omit jobs that have ended."),
      all_users: flag.describe("Jobs of everyone."),
    }),
    output: z.array(ClusterJobRecord),
    errors: [...clusterErrors, "CommandError"],
  },
  jobStatus: {
    route: "POST /job_status",
    reads: true,
    summary: "Statuses of jobs of a cluster.",
    access: "viewer",
    about: { cluster: "cluster_name" },
    input: body("JobStatusBody", {
      cluster_name: clusterName,
      job_ids: nullable(listOf(integer)).describe("Null is the latest job."),
    }),
    output: z.record(z.string(), z.enum(jobMachine.names).nullable()).describe("By job id."),
    errors: clusterErrors,
  },
  cancel: {
    route: "POST /cancel",
    summary: "Cancel jobs of a cluster.",
    access: "user",
    about: { cluster: "cluster_name" },
    input: body("CancelBody", {
      cluster_name: clusterName,
      job_ids: nullable(listOf(integer)).describe(
        "Null without all and all_users is the caller's latest running job.",
      ),
      all: flag.describe("All jobs of the caller; not together with job_ids."),
      all_users: flag.describe("All jobs of everyone."),
      try_cancel_if_cluster_is_init: flag.describe("Try although the cluster is not up."),
    }),
    output: Nothing,
    errors: clusterErrors,
  },
  logs: {
    route: "POST /logs",
    mode: "log",
    summary:
      "Stream the log of a job; of a cluster that is off or gone, the end that was copied before.",
    access: "viewer",
    input: body("ClusterJobBody", {
      cluster_name: clusterName,
      job_id: nullable(integer).describe("Null is the latest job."),
      follow: z.boolean().default(true).describe("Keep streaming until the job ended."),
      tail: integer.default(0).describe("Last n lines; 0 is everything."),
      offset: byteCount.default(0).describe("Byte to start at, to resume after a lost connection."),
      ...logInstants,
    }),
    output: JobExitCode,
    errors: clusterErrors,
  },
  downloadLogs: {
    route: "POST /download_logs",
    summary: "Copy job logs to control, ready for /download.",
    access: "viewer",
    about: { cluster: "cluster_name" },
    input: body("ClusterJobsDownloadLogsBody", {
      cluster_name: clusterName,
      job_ids: nullable(listOf(text)).describe("Null is the latest job."),
      local_dir: filePath.default(`~/${product.word}_logs`).describe("Accepted and ignored."),
    }),
    output: z.record(z.string(), z.string()).describe("Job id to folder on control."),
    errors: clusterErrors,
  },
  download: {
    route: "POST /download",
    mode: "file",
    summary: "Fetch folders on control, or files of a node of a cluster, as one zip.",
    access: "viewer",
    input: {
      ...query({
        relative: text
          .default("home")
          .describe("items: names relative to each folder; otherwise whole paths."),
      }),
      ...body("DownloadBody", {
        folder_paths: listOf(filePath).describe(
          "Folders within the caller's log folder, or one CLUSTER:PATH.",
        ),
        rank: integer.min(0).default(0).describe("Of CLUSTER: which node."),
        answer: z
          .enum(["zip", "list", "contents"])
          .default("zip")
          .describe("Of CLUSTER: a zip, a line of JSON an entry, or the stretches asked for."),
        stretches: listOf(Stretch)
          .max(mostStretches)
          .default([])
          .describe("Of `contents`: which bytes of which files, each sent after a line of JSON."),
      }),
    },
    output: Bytes,
    errors: ["ValueError", "NotFoundError", "PermissionDeniedError", ...clusterErrors],
  },
});
