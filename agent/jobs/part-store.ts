import type { SQLOutputValue } from "node:sqlite";
import type { JobSidecar, PartSpec } from "../../contract/agent-shapes.ts";
import type { PartStatus } from "../../contract/statuses.ts";
import type { Journal } from "../journal.ts";

/** What can be wanted of a rank, in the only order it comes. */
export const wishes = ["setup", "run", "end"] as const;
export type Wanted = (typeof wishes)[number];

/** One rank of a job as the journal has it. */
export interface PartRow {
  readonly jobId: number;
  readonly rank: number;
  readonly wanted: Wanted;
  /** How long its processes have after TERM. */
  readonly graceMs: number;
  readonly status: PartStatus;
  readonly exitCode: number | null;
  readonly reason: string | null;
  /** The boot its processes belong to; null before the first. */
  readonly bootId: string | null;
  readonly cpus: number;
  readonly accelerators: number;
  /** Indices of the accelerators it may use. */
  readonly gpus: readonly number[];
  /** Bytes of its log that are in the merged log; 0 on a worker. */
  readonly merged: number;
}

/** What a part is made of. */
export type NewPart = Pick<PartRow, "jobId" | "rank" | "wanted" | "status" | "exitCode"> &
  Pick<PartRow, "cpus" | "accelerators" | "gpus">;

export const defaultGraceMs = 10_000;

/** Writes a new part. */
export function addPart({ sql }: Journal, part: NewPart): void {
  sql.run`
    INSERT INTO parts (job_id, rank, wanted, grace_ms, status, exit_code, cpus, accelerators, gpus)
    VALUES (${part.jobId}, ${part.rank}, ${part.wanted}, ${defaultGraceMs}, ${part.status},
      ${part.exitCode}, ${part.cpus}, ${part.accelerators}, ${JSON.stringify(part.gpus)})`;
}

/** The part, or undefined. */
export function findPart({ sql }: Journal, jobId: number, rank: number): PartRow | undefined {
  const row = sql.get`SELECT * FROM parts WHERE job_id = ${jobId} AND rank = ${rank}`;
  return row === undefined ? undefined : toPartRow(row);
}

/** The parts of a job by rank. */
export function listParts({ sql }: Journal, jobId: number): PartRow[] {
  return sql.all`SELECT * FROM parts WHERE job_id = ${jobId} ORDER BY rank`.map(toPartRow);
}

/** The parts of a rank that have not ended. */
export function listLiveParts({ sql }: Journal, rank: number): PartRow[] {
  const rows = sql.all`
    SELECT * FROM parts WHERE rank = ${rank} AND status <> 'ENDED' ORDER BY job_id`;
  return rows.map(toPartRow);
}

/**
 * The parts whose resources a rank has given away. The head keeps them until the whole job ended:
 * its own rank may be done while a worker, which must still have room for the next job, is not.
 */
export function listHoldingParts({ sql }: Journal, rank: number): PartRow[] {
  const rows = sql.all`
    SELECT parts.* FROM parts LEFT JOIN jobs ON jobs.id = parts.job_id
    WHERE parts.rank = ${rank}
      AND CASE WHEN jobs.id IS NULL THEN parts.status <> 'ENDED' ELSE jobs.ended_at IS NULL END`;
  return rows.map(toPartRow);
}

/** What a move changes; what is left out stays. */
export interface PartFacts {
  readonly status?: PartStatus;
  readonly wanted?: Wanted;
  readonly graceMs?: number;
  readonly exitCode?: number | null;
  readonly reason?: string;
  readonly bootId?: string;
  readonly merged?: number;
}

/** Writes what a move changes. */
export function setPart({ sql }: Journal, jobId: number, rank: number, facts: PartFacts): void {
  sql.run`
    UPDATE parts SET
      status = coalesce(${facts.status ?? null}, status),
      wanted = coalesce(${facts.wanted ?? null}, wanted),
      grace_ms = coalesce(${facts.graceMs ?? null}, grace_ms),
      exit_code = coalesce(${facts.exitCode ?? null}, exit_code),
      reason = coalesce(${facts.reason ?? null}, reason),
      boot_id = coalesce(${facts.bootId ?? null}, boot_id),
      merged = coalesce(${facts.merged ?? null}, merged)
    WHERE job_id = ${jobId} AND rank = ${rank}`;
}

/** Writes what a job runs, its secrets sealed. */
export function addSpec({ sql, seal }: Journal, { secrets, ...spec }: PartSpec): void {
  sql.run`
    INSERT INTO specs VALUES (${spec.jobId}, ${JSON.stringify(spec)},
      ${seal.seal(JSON.stringify(secrets))})`;
}

/** What a job runs, its secrets opened; undefined once it was dropped. */
export function findSpec({ sql, seal }: Journal, jobId: number): PartSpec | undefined {
  const row = sql.get`SELECT spec, secrets FROM specs WHERE job_id = ${jobId}`;
  if (row === undefined) return undefined;
  const secrets: unknown = JSON.parse(seal.open(row["secrets"] as Uint8Array));
  const spec = JSON.parse(String(row["spec"])) as object;
  return { limits: {}, ...spec, secrets } as PartSpec;
}

/** Writes what stands before the server of a job, sealed: it holds a key. */
export function addSidecar({ sql, seal }: Journal, jobId: number, sidecar: JobSidecar): void {
  sql.run`INSERT INTO sidecars VALUES (${jobId}, ${seal.seal(JSON.stringify(sidecar))})`;
}

/** What stands before the server of a job, if anything does. */
export function findSidecar({ sql, seal }: Journal, jobId: number): JobSidecar | undefined {
  const row = sql.get`SELECT sidecar FROM sidecars WHERE job_id = ${jobId}`;
  return row && (JSON.parse(seal.open(row["sidecar"] as Uint8Array)) as JobSidecar);
}

/** Forgets what a job ran, and what stood before it: nothing of it will run again. */
export function dropSpec({ sql }: Journal, jobId: number): void {
  sql.run`DELETE FROM specs WHERE job_id = ${jobId}`;
  sql.run`DELETE FROM sidecars WHERE job_id = ${jobId}`;
}

function toPartRow(row: Record<string, SQLOutputValue>): PartRow {
  return {
    jobId: Number(row["job_id"]),
    rank: Number(row["rank"]),
    wanted: row["wanted"] as Wanted,
    graceMs: Number(row["grace_ms"]),
    status: row["status"] as PartStatus,
    exitCode: row["exit_code"] as number | null,
    reason: row["reason"] as string | null,
    bootId: row["boot_id"] as string | null,
    cpus: Number(row["cpus"]),
    accelerators: Number(row["accelerators"]),
    gpus: JSON.parse(String(row["gpus"])) as number[],
    merged: Number(row["merged"]),
  };
}
