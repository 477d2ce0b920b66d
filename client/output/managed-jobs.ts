import * as z from "zod";
import { type ManagedJobRecord, ManagedJobStatusName } from "../../contract/records/jobs.ts";
import { form, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const text = z.string().nullable();

/** A managed job, as `jobs queue` prints it. */
export const managedJobForm = form(
  z.strictObject({
    id: z.int(),
    name: z.string(),
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
