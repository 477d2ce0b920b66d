import * as z from "zod";
import type { ClusterJobRecord } from "../../contract/records/clusters.ts";
import { eventNouns } from "../../contract/records/events.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { form, formOf, instant, instantOf, text, type Ways } from "./shapes.ts";

const Status = z.enum(jobMachine.names);

type JobRow = ClusterJobRecord & { readonly cluster: string };

/** A job, as `queue` prints it. */
export const jobForm = formOf(({ of, when }: Ways<JobRow>) => ({
  cluster: z.string(),
  id: of(z.int(), (row) => row.job_id),
  name: of(text, (row) => row.job_name || null),
  status: Status,
  status_reason: of(text.describe("Why it ended or waits, where the status does not say."), (row) =>
    textOf(row.metadata?.["reason"]),
  ),
  user: of(z.string(), (row) => row.username),
  resources: z.string(),
  submitted_at: when((row) => row.submitted_at),
  started_at: when((row) => row.start_at),
  ended_at: when((row) => row.end_at),
  as_of: of(
    instant
      .nullable()
      .describe("When this was known, if the cluster is stopped or does not respond."),
    (row) => textOf(row.metadata?.["as_of"]),
  ),
}));

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** The status of a job, as `logs --status` prints it. */
export const jobStatusForm = form(
  z.strictObject({
    cluster: z.string(),
    id: z.int(),
    status: Status.nullable().describe("Null when there is no such job."),
  }),
);

/** What happened, as `events` prints it. */
export const eventForm = formOf(({ of }: Ways<AnyEvent>) => ({
  id: z.int().nullable().describe("Later events have greater ids; null without --follow."),
  at: of(instant, ({ at }) => instantOf(at) ?? ""),
  noun: z.enum(eventNouns),
  name: text.describe("Of the cluster, service or managed job; null once forgotten."),
  replica: z.int().nullable(),
  job_id: z.int().nullable().describe("Number of the managed job."),
  from: text.describe("Status it left; null when the status did not change."),
  to: text.describe("Status it entered; null when the status did not change."),
  reason: z.string(),
}));

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
