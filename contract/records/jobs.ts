import * as z from "zod";
import { Handle } from "./clusters.ts";
import { record } from "./record.ts";

/** The statuses of a managed job that the wire shows. */
export const ManagedJobStatusName = z.enum([
  "PENDING",
  "SUBMITTED",
  "STARTING",
  "RUNNING",
  "WINDING_DOWN",
  "RECOVERING",
  "CANCELLING",
  "SUCCEEDED",
  "CANCELLED",
  "FAILED",
  "FAILED_SETUP",
  "FAILED_PRECHECKS",
  "FAILED_NO_RESOURCE",
  "FAILED_CONTROLLER",
]);

const at = z.number().describe("Unix seconds.");
const texts = z.record(z.string(), z.string());

/** One task of a managed job; every key is there, what is not known or not asked for is null. */
export const ManagedJobRecord = record("ManagedJobRecord", {
  _job_id: z.int().nullable().describe("Row of the task."),
  job_id: z.int().nullable(),
  task_id: z.int().nullable().describe("From 0."),
  job_name: z.string().nullable(),
  task_name: z.string().nullable(),
  job_duration: z.number().nullable().describe("Seconds of run time so far."),
  workspace: z.string().nullable(),
  status: ManagedJobStatusName.nullable(),
  schedule_state: z.string().nullable(),
  resources: z.string().nullable().describe("What was asked for."),
  cluster_resources: z.string().nullable().describe("What its cluster has."),
  cluster_resources_full: z.string().nullable(),
  cloud: z.string().nullable(),
  region: z.string().nullable(),
  zone: z.string().nullable(),
  infra: z.string().nullable().describe("cloud/region/zone."),
  recovery_count: z.int().nullable(),
  details: z.string().nullable().describe("Why it waits, why it failed."),
  failure_reason: z.string().nullable(),
  user_name: z.string().nullable(),
  user_hash: z.string().nullable(),
  submitted_at: at.nullable(),
  start_at: at.nullable(),
  end_at: at.nullable(),
  user_yaml: z.string().nullable().describe("Task as the user wrote it."),
  entrypoint: z.string().nullable().describe("Command that submitted it."),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  controller_pid: z.int().nullable(),
  controller_pid_started_at: at.nullable(),
  dag_yaml_path: z.string().nullable(),
  env_file_path: z.string().nullable(),
  last_recovered_at: at.nullable(),
  run_timestamp: z.string().nullable(),
  priority: z.int().nullable(),
  priority_class: z.string().nullable(),
  original_user_yaml_path: z.string().nullable(),
  pool: z.string().nullable(),
  pool_hash: z.string().nullable(),
  current_cluster_name: z.string().nullable(),
  cluster_name_on_cloud: z.string().nullable(),
  job_id_on_pool_cluster: z.int().nullable(),
  accelerators: z.record(z.string(), z.number()).nullable(),
  labels: texts.nullable(),
  links: texts.nullable().describe("Title to address."),
  node_names: z.string().nullable(),
  execution: z.enum(["serial", "parallel"]).nullable(),
  is_job_group: z.boolean().nullable(),
  is_primary_in_job_group: z.boolean().nullable(),
  is_batch: z.boolean().nullable(),
  batch_total_batches: z.int().nullable(),
  batch_completed_batches: z.int().nullable(),
  internal_external_ips: z.array(z.tuple([z.string(), z.string()])).nullable(),
  root_job_id: z.int().nullable().describe("Job group that it is a part of."),
  parent_job_id: z.int().nullable().describe("Job that submitted it."),
  parent_task_id: z.int().nullable(),
  dynamic_task_index: z.int().nullable().describe("Its number within the group."),
  internal_services: z.record(z.string(), z.string().nullable()).nullable(),
});
export type ManagedJobRecord = z.output<typeof ManagedJobRecord>;

/** The old listing: only the keys that a task has. */
export const ManagedJobRow = ManagedJobRecord.partial().meta({ id: "ManagedJobRow" });

/** One page of managed jobs; `total` counts jobs, not tasks. */
export const ManagedJobQueuePage = record("ManagedJobQueuePage", {
  jobs: z.array(ManagedJobRecord),
  total: z.int().describe("Jobs after all filters."),
  total_no_filter: z.int(),
  status_counts: z.record(z.string(), z.int()).describe("Before the filter by status."),
  infra_options: z.array(z.string()).describe("Where the listed jobs run."),
});
export type ManagedJobQueuePage = z.output<typeof ManagedJobQueuePage>;

/** An event of a managed job, newest first. */
export const ManagedJobEvent = record("ManagedJobEvent", {
  spot_job_id: z.int(),
  task_id: z.int().nullable().describe("Null for the job as a whole."),
  new_status: ManagedJobStatusName.describe("The status after it."),
  code: z.string().nullable(),
  reason: z.string().nullable(),
  timestamp: z.string().describe("ISO 8601."),
});
export type ManagedJobEvent = z.output<typeof ManagedJobEvent>;

/** What a launch of managed jobs leaves. */
export const JobsLaunchResult = z
  .object({ job_id: z.array(z.int()).nullable(), handle: Handle })
  .meta({ id: "JobsLaunchResult" });
