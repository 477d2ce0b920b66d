import type { SQLOutputValue } from "node:sqlite";
import type { Job, JobSubmission } from "../../contract/agent-shapes.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import type { Journal } from "../journal.ts";

/** A job as the journal has it. */
export type JobRow = Omit<Job, "logPath"> & {
  /** How it will end, once that is decided and its ranks are being ended. */
  readonly verdict: JobStatus | null;
  /** The piece of a rank's log that was last written into the merged log. */
  readonly merge: MergePiece | null;
  /** When it was started by the clock that nobody sets. */
  readonly startedBoot: BootInstant | null;
};

/** An instant that is good for as long as the machine is not rebooted. */
export interface BootInstant {
  readonly bootId: string;
  readonly monotonicMs: number;
}

/** Bytes `from` to `to` of the log of a rank, and where they begin in the merged log. */
export interface MergePiece {
  readonly rank: number;
  readonly from: number;
  readonly to: number;
  readonly at: number;
}

/** Writes a new job that waits in the queue, and answers its id. */
export function addJob({ sql }: Journal, job: JobSubmission, submittedAt: number): number {
  const { lastInsertRowid } = sql.run`
    INSERT INTO jobs (id, submission_id, name, user_id, user_name, nodes, resources, metadata, status,
      submitted_at)
    VALUES (
      (SELECT ${job.lastJobId} + 1 WHERE ${job.lastJobId} >
        coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'jobs'), 0)),
      ${job.submissionId}, ${job.name}, ${job.userId}, ${job.userName}, ${job.nodes},
      ${job.resources}, ${JSON.stringify(job.metadata)}, 'PENDING', ${submittedAt})`;
  return Number(lastInsertRowid);
}

/** What is known of a job whose row was lost. */
export type RestoredJob = Omit<JobRow, "verdict" | "merge" | "startedBoot">;

/** Writes a job whose row was lost. */
export function restoreJob({ sql }: Journal, job: RestoredJob): void {
  sql.run`
    INSERT INTO jobs (id, submission_id, name, user_id, user_name, nodes, resources, metadata, status,
      reason, exit_code, submitted_at, started_at, ended_at)
    VALUES (${job.id}, ${job.submissionId}, ${job.name}, ${job.userId}, ${job.userName}, ${job.nodes},
      ${job.resources}, ${JSON.stringify(job.metadata)}, ${job.status}, ${job.reason},
      ${job.exitCode}, ${job.submittedAt}, ${job.startedAt}, ${job.endedAt})`;
}

/** The job, or undefined. */
export function findJob({ sql }: Journal, id: number): JobRow | undefined {
  return toJobRow(sql.get`SELECT * FROM jobs WHERE id = ${id}`);
}

/** The job that a submission made, or undefined. */
export function findSubmitted({ sql }: Journal, submissionId: string): JobRow | undefined {
  return toJobRow(sql.get`SELECT * FROM jobs WHERE submission_id = ${submissionId}`);
}

/**
 * Jobs by falling id, `user` being an id or a name; as the JSON of `Job[]`, which the
 * database writes five times as fast as we could. The path of a log is given without its job's id;
 * `waiting` has pairs of a job's id and why it waits; the cast is what lets
 * SQLite join them by an index.
 */
export function listJobs(
  { sql }: Journal,
  {
    active,
    user,
    limit,
  }: { active: boolean; user?: string | undefined; limit?: number | undefined },
  [beforeId, afterId]: readonly [string, string],
  waiting: readonly (readonly [number, string | null])[],
): string {
  const row = sql.get`
    WITH waiting AS MATERIALIZED (
      SELECT CAST(value ->> 0 AS INTEGER) AS job_id, value ->> 1 AS why
      FROM json_each(${JSON.stringify(waiting)}))
    SELECT json_group_array(json_object('id', id, 'submissionId', submission_id, 'name', name,
      'userId', user_id, 'userName', user_name, 'status', status, 'reason', coalesce(reason, why),
      'exitCode', exit_code, 'submittedAt', submitted_at, 'startedAt', started_at,
      'endedAt', ended_at, 'nodes', nodes, 'resources', resources, 'metadata', json(metadata),
      'logPath', ${beforeId} || id || ${afterId})) AS json
    FROM (
      SELECT * FROM jobs LEFT JOIN waiting ON job_id = id
      WHERE (${active ? 1 : 0} = 0 OR ended_at IS NULL)
        AND (${user ?? null} IS NULL OR user_id = ${user ?? null} OR user_name = ${user ?? null})
      ORDER BY id DESC LIMIT ${limit ?? -1})`;
  return String(row?.["json"]);
}

/** Ids of the jobs that have not ended, in the order of their arrival. */
export function listActiveIds({ sql }: Journal): number[] {
  const rows = sql.all`SELECT id FROM jobs WHERE ended_at IS NULL ORDER BY id`;
  return rows.map((row) => Number(row["id"]));
}

/** Ids of the jobs that were started and have not ended. */
export function listStartedIds({ sql }: Journal): number[] {
  const rows = sql.all`SELECT id FROM jobs WHERE ended_at IS NULL AND status <> 'PENDING'`;
  return rows.map((row) => Number(row["id"]));
}

/** The job that waits longest, or undefined. */
export function findNextPending({ sql }: Journal): JobRow | undefined {
  return toJobRow(
    sql.get`SELECT * FROM jobs WHERE ended_at IS NULL AND status = 'PENDING' ORDER BY id LIMIT 1`,
  );
}

/** Ids of the jobs that wait in the queue, newest first. */
export function listPendingIds({ sql }: Journal, limit?: number): number[] {
  const rows = sql.all`
    SELECT id FROM jobs WHERE ended_at IS NULL AND status = 'PENDING'
    ORDER BY id DESC LIMIT ${limit ?? -1}`;
  return rows.map((row) => Number(row["id"]));
}

/** How many jobs wait in the queue up to this one. */
export function countPendingUpTo({ sql }: Journal, id: number): number {
  const row = sql.get`
    SELECT count(*) AS jobs FROM jobs WHERE ended_at IS NULL AND status = 'PENDING' AND id <= ${id}`;
  return Number(row?.["jobs"]);
}

/** What a move changes; what is left out stays. */
export interface JobFacts {
  readonly status?: JobStatus;
  readonly verdict?: JobStatus;
  readonly reason?: string | null;
  readonly exitCode?: number | null;
  readonly startedAt?: number;
  readonly startedBoot?: BootInstant;
  readonly endedAt?: number;
}

/** Writes what a move changes. */
export function setJob({ sql }: Journal, id: number, facts: JobFacts): void {
  sql.run`
    UPDATE jobs SET
      status = coalesce(${facts.status ?? null}, status),
      verdict = coalesce(${facts.verdict ?? null}, verdict),
      reason = coalesce(${facts.reason ?? null}, reason),
      exit_code = coalesce(${facts.exitCode ?? null}, exit_code),
      started_at = coalesce(${facts.startedAt ?? null}, started_at),
      started_boot = coalesce(${facts.startedBoot ? JSON.stringify(facts.startedBoot) : null}, started_boot),
      ended_at = coalesce(${facts.endedAt ?? null}, ended_at)
    WHERE id = ${id}`;
}

/** Writes which piece goes into the merged log next. */
export function setMerge({ sql }: Journal, id: number, piece: MergePiece): void {
  sql.run`
    UPDATE jobs SET merge_rank = ${piece.rank}, merge_from = ${piece.from}, merge_to = ${piece.to},
      merge_at = ${piece.at}
    WHERE id = ${id}`;
}

function toJobRow(row: Record<string, SQLOutputValue> | undefined): JobRow | undefined {
  if (row === undefined) return undefined;
  return {
    id: Number(row["id"]),
    submissionId: String(row["submission_id"]),
    name: String(row["name"]),
    userId: String(row["user_id"]),
    userName: String(row["user_name"]),
    nodes: Number(row["nodes"]),
    resources: String(row["resources"]),
    metadata: JSON.parse(String(row["metadata"])) as Record<string, unknown>,
    status: row["status"] as JobStatus,
    verdict: row["verdict"] as JobStatus | null,
    reason: row["reason"] as string | null,
    exitCode: row["exit_code"] as number | null,
    submittedAt: Number(row["submitted_at"]),
    startedAt: row["started_at"] as number | null,
    endedAt: row["ended_at"] as number | null,
    merge: toPiece(row),
    startedBoot:
      row["started_boot"] === null
        ? null
        : (JSON.parse(String(row["started_boot"])) as BootInstant),
  };
}

function toPiece(row: Record<string, SQLOutputValue>): MergePiece | null {
  if (row["merge_rank"] === null) return null;
  return {
    rank: Number(row["merge_rank"]),
    from: Number(row["merge_from"]),
    to: Number(row["merge_to"]),
    at: Number(row["merge_at"]),
  };
}
