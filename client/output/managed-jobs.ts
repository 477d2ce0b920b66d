import * as z from "zod";
import {
  type ManagedJobEvent,
  type ManagedJobRecord,
  ManagedJobStatusName,
} from "../../contract/records/jobs.ts";
import { form, formOf, instant, text, type Ways } from "./shapes.ts";

/** A task of a managed job, as `jobs queue` prints it. */
export const managedJobForm = formOf(({ of, when }: Ways<ManagedJobRecord>) => ({
  id: of(z.int(), (row) => row.job_id ?? 0),
  name: of(z.string(), (row) => row.job_name ?? ""),
  task: of(z.int().describe("Number of the task in its job, from 0."), (row) => row.task_id ?? 0),
  task_name: of(z.string(), (row) => row.task_name ?? ""),
  execution: z
    .enum(["serial", "parallel"])
    .nullable()
    .describe("How the tasks of its job run; null where it has one."),
  is_primary: of(
    z.boolean().nullable().describe("Whether its job group waits for it."),
    (row) => row.is_primary_in_job_group,
  ),
  group: of(
    z.int().nullable().describe("Number of the job group that it has joined."),
    (row) => row.root_job_id,
  ),
  status: of(ManagedJobStatusName, (row) => row.status ?? "PENDING"),
  status_reason: of(text.describe("Why it has this status, or what it waits for."), reasonOf),
  user: of(z.string(), (row) => row.user_name ?? ""),
  workspace: of(z.string(), (row) => row.workspace ?? ""),
  resources: of(z.string(), (row) => row.resources ?? ""),
  infra: text.describe("Where it runs, or ran last."),
  cluster: of(text.describe("Cluster of its latest attempt."), (row) => row.current_cluster_name),
  recoveries: of(
    z.int().describe("How often it was running again after it was lost or had failed."),
    (row) => row.recovery_count ?? 0,
  ),
  run_seconds: of(
    z.number().describe("How long its attempts ran, together."),
    (row) => row.job_duration ?? 0,
  ),
  submitted_at: when((row) => row.submitted_at),
  started_at: when((row) => row.start_at),
  ended_at: when((row) => row.end_at),
}));

/** Why a job has its status, or what it waits for; null where the status says all. */
export function reasonOf({ details, failure_reason }: ManagedJobRecord): string | null {
  return details ?? failure_reason;
}

/** What happened to a managed job, as `jobs events` prints it. */
export const managedJobEventForm = formOf(({ of }: Ways<ManagedJobEvent>) => ({
  at: of(instant, (row) => row.timestamp),
  id: of(z.int().describe("Number of the managed job."), (row) => row.spot_job_id),
  task: of(
    z.int().nullable().describe("Number of the task in the job; null for the whole job."),
    (row) => row.task_id,
  ),
  status: of(ManagedJobStatusName.describe("Its status after the event."), (row) => row.new_status),
  reason: text,
}));

/** What became of the inputs of a map, as `jobs map` prints it. */
export const mapForm = form(
  z.strictObject({
    inputs: z.int(),
    succeeded: z.int(),
    failed: z.int().describe("How many failed at each try."),
    results: text.describe("File with the results; null while inputs are left to run."),
  }),
);
