import * as z from "zod";
import type { ClusterJobRecord } from "../../contract/records/clusters.ts";
import { eventNouns } from "../../contract/records/events.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { form, instant, instantOf } from "./shapes.ts";

const when = instant.nullable();
const Status = z.enum(jobMachine.names);

/** A job, as `queue` prints it. */
export const jobForm = form(
  z.strictObject({
    cluster: z.string(),
    id: z.int(),
    name: z.string().nullable(),
    status: Status,
    status_reason: z
      .string()
      .nullable()
      .describe("Why it ended or waits, where the status does not say."),
    user: z.string(),
    resources: z.string(),
    submitted_at: when,
    started_at: when,
    ended_at: when,
    as_of: when.describe("When this was known, if the cluster is stopped or does not respond."),
  }),
  (row: ClusterJobRecord & { readonly cluster: string }) => ({
    cluster: row.cluster,
    id: row.job_id,
    name: row.job_name || null,
    status: row.status,
    status_reason: textOf(row.metadata?.["reason"]),
    user: row.username,
    resources: row.resources,
    submitted_at: instantOf(row.submitted_at),
    started_at: instantOf(row.start_at),
    ended_at: instantOf(row.end_at),
    as_of: textOf(row.metadata?.["as_of"]),
  }),
);

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The status of a job, as `logs --status` prints it. */
export const jobStatusForm = form(
  z.strictObject({
    cluster: z.string(),
    id: z.int(),
    status: Status.nullable().describe("Null when there is no such job."),
  }),
  (row: { cluster: string; id: number; status: z.output<typeof Status> | null }) => row,
);

/** What happened, as `events` prints it. */
export const eventForm = form(
  z.strictObject({
    id: z.int().nullable().describe("Later events have greater ids; null without --follow."),
    at: instant,
    noun: z.enum(eventNouns),
    name: z
      .string()
      .nullable()
      .describe("Of the cluster, service or managed job; null once forgotten."),
    replica: z.int().nullable(),
    job_id: z.int().nullable().describe("Number of the managed job."),
    from: z.string().nullable().describe("Status it left; null when the status did not change."),
    to: z.string().nullable().describe("Status it entered; null when the status did not change."),
    reason: z.string(),
  }),
  ({ at, id, noun, name, replica, job_id = null, from, to, reason }: AnyEvent) => ({
    ...{ id, at: instantOf(at) ?? "", noun, name, replica, job_id, from, to, reason },
  }),
);

interface AnyEvent {
  readonly id: number | null;
  readonly at: number;
  readonly noun: (typeof eventNouns)[number];
  readonly name: string | null;
  readonly replica: number | null;
  readonly job_id?: number | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly reason: string;
}

/** The event of a line such as `INIT → UP: every node runs`. */
export function eventOfLine(cluster: string, line: string, at: number): AnyEvent {
  const [, from = null, to = null, reason = line] =
    /^([A-Z_]+) → ([A-Z_]+): (.*)$/s.exec(line) ?? [];
  return { id: null, at, noun: "cluster", name: cluster, replica: null, from, to, reason };
}
