import * as z from "zod";
import { requestsOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { filePath, integer, listOf, seconds, taskText, text } from "../caps.ts";
import { JobExitCode } from "../records/clusters.ts";
import {
  JobsLaunchResult,
  ManagedJobEvent,
  ManagedJobQueuePage,
  ManagedJobRow,
} from "../records/jobs.ts";
import { body, flag, Nothing, nullable, optional, taskErrors } from "./fields.ts";

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
export const jobOperations = requestsOf("jobs.", {
  launch: {
    route: "POST /jobs/launch",
    summary: "Submit a managed job.",
    access: "user",
    input: body("JobsLaunchBody", {
      task: taskText.describe("One task, a pipeline or a group as YAML text."),
      name: nullable(text).describe("Null is the task's name."),
      pool: optional(text).describe("Run on workers of this pool."),
      parent_job_id: optional(integer).describe("Job group to join."),
      parent_task_id: optional(integer).describe("Task of that group that submits this one."),
      job_group_explicit: flag.describe("Fail where the group cannot be joined."),
      num_jobs: optional(integer).describe("Number of copies, each a job of its own."),
      submission_id: optional(text).describe("The same id twice is the same launch."),
    }),
    output: JobsLaunchResult,
    errors: [...taskErrors, "NotFoundError", "ConflictError", "ResourcesUnavailableError"],
  },
  queue: {
    reads: true,
    route: "POST /jobs/queue",
    summary: "List managed jobs, as old clients know it.",
    access: "viewer",
    input: body("JobsQueueBody", listing),
    output: z.array(ManagedJobRow),
    errors: ["ClusterNotUpError"],
  },
  queueV2: {
    reads: true,
    route: "POST /jobs/queue/v2",
    summary: "List managed jobs: filtered, sorted, paged.",
    access: "viewer",
    input: body("JobsQueueV2Body", {
      ...listing,
      user_match: optional(text).describe("Part of the user's name; with all_users."),
      workspace_match: optional(text).describe("Part of the workspace's name."),
      name_match: optional(text).describe("Part of the job's name."),
      pool_match: optional(text).describe("Part of the pool's name."),
      infra_match: optional(text).describe("Part of where it runs: cloud/region/zone."),
      submitted_after: optional(seconds).describe("Unix seconds."),
      submitted_before: optional(seconds).describe("Unix seconds."),
      page: optional(integer).describe("From 1; needs limit."),
      limit: optional(integer).describe("Jobs on a page."),
      statuses: optional(listOf(text)).describe("Only tasks with one of these."),
      fields: optional(listOf(text)).describe("Fields to fill; job_id and status always."),
      sort_by: optional(text).describe("job_id, job_name, submitted_at, status, …"),
      sort_order: optional(text).describe("asc; anything else is desc."),
    }),
    output: ManagedJobQueuePage,
    errors: ["ValueError", "ClusterNotUpError"],
  },
  wait: {
    route: "POST /jobs/wait",
    queue: "long",
    summary: "Wait until a managed job, or one of its tasks, has ended.",
    access: "viewer",
    input: body("JobsWaitBody", {
      name: optional(text).describe("The latest job of this name."),
      job_id: optional(jobId).describe("Exactly one of this and name."),
      timeout: optional(integer).describe("Seconds; 0 or less looks once, null waits forever."),
      poll_interval: integer.default(15).describe("Seconds between looks, at least 5."),
      task: taskOfJob.describe("Number or name of a task; null waits for all."),
    }),
    output: JobExitCode,
    errors: ["ValueError", "JobNotFoundError", "TimeoutError", "ClusterNotUpError"],
  },
  cancel: {
    route: "POST /jobs/cancel",
    summary: "Cancel managed jobs.",
    access: "user",
    input: body("JobsCancelBody", {
      name: optional(text).describe("Exactly one of name, job_ids, pool, all, all_users."),
      job_ids: optional(listOf(integer)),
      all: flag.describe("All jobs of the caller."),
      all_users: flag.describe("All jobs of everyone."),
      pool: optional(text).describe("All jobs of this pool."),
      task: taskOfJob.describe("Only this task, by number or name; null is the whole job."),
      graceful: flag.describe("Wait for uploads to flush before the cluster goes."),
      graceful_timeout: optional(integer).describe("Seconds for the graceful part."),
    }),
    output: Nothing,
    errors: ["ValueError", "JobNotFoundError", "NotSupportedError", "ClusterNotUpError"],
  },
  logs: {
    route: "POST /jobs/logs",
    mode: "log",
    resultNeedsFollow: true,
    summary: "Stream the log of a managed job.",
    access: "viewer",
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
  },
  downloadLogs: {
    route: "POST /jobs/download_logs",
    summary: "Copy logs of managed jobs to control, ready for /download.",
    access: "viewer",
    input: body("JobsDownloadLogsBody", {
      name: nullable(text).describe("Not together with job_id."),
      job_id: nullable(jobId),
      refresh,
      controller: flag.describe("What launches and recovers it, instead of the job."),
      local_dir: filePath.default(`~/${product.word}_logs`).describe("Accepted and ignored."),
    }),
    output: z.record(z.string(), z.string()).describe("Job id to folder on control."),
    errors: ["ValueError", "ClusterNotUpError"],
  },
  events: {
    route: "POST /jobs/events",
    summary: "What happened to a managed job, newest first.",
    access: "viewer",
    input: body("GetJobEventsBody", {
      job_id: jobId,
      task_id: optional(integer).describe("Only this task and the job as a whole."),
      task: taskOfJob.describe("As task_id, by number or name."),
      include_cluster_events: flag.describe("Also what happened to its cluster."),
      limit: integer.nullable().default(10).describe("The newest n; null is all."),
    }),
    output: z.array(ManagedJobEvent),
    errors: ["ValueError"],
  },
});
