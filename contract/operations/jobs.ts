import * as z from "zod";
import { type Operation, operation } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { document, filePath, integer, listOf, text } from "../caps.ts";
import { JobExitCode } from "../records/clusters.ts";
import {
  JobsLaunchResult,
  ManagedJobEvent,
  ManagedJobQueuePage,
  ManagedJobRow,
} from "../records/jobs.ts";
import { body, Nothing, nullable, optional } from "./fields.ts";

const tag = "jobs";
const flag = z.boolean().default(false);
const refresh = flag.describe("Start what runs managed jobs first, if it is stopped.");
const jobId = integer.describe("Managed job.");
const taskOfJob = optional(z.union([integer, text]));
const listing = {
  refresh,
  skip_finished: flag.describe("Leave out jobs whose tasks all ended."),
  all_users: flag.describe("Jobs of everyone."),
  job_ids: optional(listOf(integer)).describe("Only these."),
};

/** Managed jobs: each on a cluster that we create, recover and delete. */
export const jobOperations = {
  launch: operation({
    name: "jobs.launch",
    route: "POST /jobs/launch",
    tag,
    mode: "async",
    queue: "short",
    summary: "Submit a managed job.",
    access: "any",
    input: body("JobsLaunchBody", {
      task: document.describe("One task, a chain or a group as YAML text."),
      name: nullable(text).describe("Null is the task's name."),
      pool: optional(text).describe("Run on workers of this pool."),
      num_jobs: optional(integer).describe("Number of copies; only with pool."),
    }),
    output: JobsLaunchResult,
    errors: [
      "ValueError",
      "InvalidTaskError",
      "NotSupportedError",
      "ResourcesUnavailableError",
      "UserRequestRejectedByPolicy",
    ],
  }),
  queue: operation({
    name: "jobs.queue",
    route: "POST /jobs/queue",
    tag,
    mode: "async",
    queue: "short",
    summary: "List managed jobs, as old clients know it.",
    access: "any",
    input: body("JobsQueueBody", listing),
    output: z.array(ManagedJobRow),
    errors: ["ClusterNotUpError"],
  }),
  queueV2: operation({
    name: "jobs.queue_v2",
    route: "POST /jobs/queue/v2",
    tag,
    mode: "async",
    queue: "short",
    summary: "List managed jobs: filtered, sorted, paged.",
    access: "any",
    input: body("JobsQueueV2Body", {
      ...listing,
      user_match: optional(text).describe("Part of the user's name; with all_users."),
      workspace_match: optional(text).describe("Part of the workspace's name."),
      name_match: optional(text).describe("Part of the job's name."),
      pool_match: optional(text).describe("Part of the pool's name."),
      page: optional(integer).describe("From 1; needs limit."),
      limit: optional(integer).describe("Jobs on a page."),
      statuses: optional(listOf(text)).describe("Only tasks with one of these."),
      fields: optional(listOf(text)).describe("Fields to fill; job_id and status always."),
      sort_by: optional(text).describe("job_id, job_name, submitted_at, status, …"),
      sort_order: optional(text).describe("asc; anything else is desc."),
    }),
    output: ManagedJobQueuePage,
    errors: ["ValueError", "ClusterNotUpError"],
  }),
  wait: operation({
    name: "jobs.wait",
    route: "POST /jobs/wait",
    tag,
    mode: "async",
    queue: "long",
    summary: "Wait until a managed job, or one of its tasks, has ended.",
    access: "any",
    input: body("JobsWaitBody", {
      name: optional(text).describe("The latest job of this name."),
      job_id: optional(jobId).describe("Exactly one of this and name."),
      timeout: optional(integer).describe("Seconds; null waits for ever."),
      poll_interval: integer.default(15).describe("Seconds between looks, at least 5."),
      task: taskOfJob.describe("Number or name of a task; null waits for all."),
    }),
    output: JobExitCode,
    errors: ["ValueError", "TimeoutError", "ClusterNotUpError"],
  }),
  cancel: operation({
    name: "jobs.cancel",
    route: "POST /jobs/cancel",
    tag,
    mode: "async",
    queue: "short",
    summary: "Cancel managed jobs.",
    access: "any",
    input: body("JobsCancelBody", {
      name: optional(text).describe("Exactly one of name, job_ids, pool, all, all_users."),
      job_ids: optional(listOf(integer)),
      all: flag.describe("All jobs of the caller."),
      all_users: flag.describe("All jobs of everyone."),
      pool: optional(text).describe("All jobs of this pool."),
      graceful: flag.describe("Wait for uploads to flush before the cluster goes."),
      graceful_timeout: optional(integer).describe("Seconds for the graceful part."),
    }),
    output: Nothing,
    errors: ["ValueError", "ClusterNotUpError"],
  }),
  logs: operation({
    name: "jobs.logs",
    route: "POST /jobs/logs",
    tag,
    mode: "log",
    resultNeedsFollow: true,
    queue: "short",
    summary: "Stream the log of a managed job.",
    access: "any",
    input: body("JobsLogsBody", {
      name: optional(text).describe("Not together with job_id."),
      job_id: optional(jobId).describe("Without a name either: the latest job."),
      follow: z.boolean().default(true).describe("Keep streaming until the job ended."),
      controller: flag.describe("What launches and recovers it, instead of the job."),
      refresh,
      tail: optional(integer).describe("Last n lines; null is everything."),
      task: taskOfJob.describe("Number or name of a task of the job."),
    }),
    output: JobExitCode,
    errors: ["ValueError", "JobNotFoundError", "ClusterNotUpError"],
  }),
  downloadLogs: operation({
    name: "jobs.download_logs",
    route: "POST /jobs/download_logs",
    tag,
    mode: "async",
    queue: "short",
    summary: "Copy logs of managed jobs to control, ready for /download.",
    access: "any",
    input: body("JobsDownloadLogsBody", {
      name: nullable(text).describe("Not together with job_id."),
      job_id: nullable(jobId),
      refresh,
      controller: flag.describe("What launches and recovers it, instead of the job."),
      local_dir: filePath.default(`~/${product.word}_logs`).describe("Accepted and ignored."),
    }),
    output: z.record(z.string(), z.string()).describe("Job id to folder on control."),
    errors: ["ValueError", "ClusterNotUpError"],
  }),
  events: operation({
    name: "jobs.events",
    route: "POST /jobs/events",
    tag,
    mode: "async",
    queue: "short",
    summary: "What happened to a managed job, newest first.",
    access: "any",
    input: body("GetJobEventsBody", {
      job_id: jobId,
      task_id: optional(integer).describe("Only this task and the job as a whole."),
      limit: integer.nullable().default(10).describe("The newest n; null is all."),
    }),
    output: z.array(ManagedJobEvent),
  }),
} satisfies Record<string, Operation>;
