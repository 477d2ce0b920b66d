import * as z from "zod";
import {
  type ManagedJobEvent,
  type ManagedJobRecord,
  ManagedJobStatusName,
} from "../../contract/records/jobs.ts";
import { form, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const text = z.string().nullable();

/** A task of a managed job, as `jobs queue` prints it. */
export const managedJobForm = form(
  z.strictObject({
    id: z.int(),
    name: z.string(),
    task: z.int().describe("Number of the task in its job, from 0."),
    task_name: z.string(),
    execution: z
      .enum(["serial", "parallel"])
      .nullable()
      .describe("How the tasks of its job run; null where it has one."),
    is_primary: z.boolean().nullable().describe("Whether its job group waits for it."),
    group: z.int().nullable().describe("Number of the job group that it has joined."),
    status: ManagedJobStatusName,
    status_reason: text.describe("Why it has this status, or what it waits for."),
    user: z.string(),
    workspace: z.string(),
    resources: z.string(),
    infra: text.describe("Where it runs, or ran last."),
    cluster: text.describe("Cluster of its latest attempt."),
    recoveries: z.int().describe("How often it was running again after it was lost or had failed."),
    run_seconds: z.number().describe("How long its attempts ran, together."),
    submitted_at: when,
    started_at: when,
    ended_at: when,
  }),
  (row: ManagedJobRecord) => ({
    id: row.job_id ?? 0,
    name: row.job_name ?? "",
    task: row.task_id ?? 0,
    task_name: row.task_name ?? "",
    execution: row.execution,
    is_primary: row.is_primary_in_job_group,
    group: row.root_job_id,
    status: row.status ?? "PENDING",
    status_reason: reasonOf(row),
    user: row.user_name ?? "",
    workspace: row.workspace ?? "",
    resources: row.resources ?? "",
    infra: row.infra,
    cluster: row.current_cluster_name,
    recoveries: row.recovery_count ?? 0,
    run_seconds: row.job_duration ?? 0,
    submitted_at: instantOf(row.submitted_at),
    started_at: instantOf(row.start_at),
    ended_at: instantOf(row.end_at),
  }),
);

/** Why a job has its status, or what it waits for; null where the status says all. */
export const reasonOf = ({ details, failure_reason }: ManagedJobRecord): string | null =>
  details ?? failure_reason;

/** What happened to a managed job, as `jobs events` prints it. */
export const managedJobEventForm = form(
  z.strictObject({
    at: instant,
    id: z.int().describe("Number of the managed job."),
    task: z.int().nullable().describe("Number of the task in the job; null for the whole job."),
    status: ManagedJobStatusName.describe("Its status after the event."),
    reason: text,
  }),
  (row: ManagedJobEvent) => ({
    at: row.timestamp,
    id: row.spot_job_id,
    task: row.task_id,
    status: row.new_status,
    reason: row.reason,
  }),
);

interface MapCounts {
  readonly inputs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly results: string | null;
}

/** What became of the inputs of a map, as `jobs map` prints it. */
export const mapForm = form(
  z.strictObject({
    inputs: z.int(),
    succeeded: z.int(),
    failed: z.int().describe("How many failed at each try."),
    results: text.describe("File with the results; null while inputs are left to run."),
  }),
  (row: MapCounts) => row,
);
