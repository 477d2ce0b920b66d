import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { offsetOfLastLines, sizeOf } from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { Gap } from "../../contract/hooks.ts";
import { jobLogGap, logOffsetHeader } from "../../contract/job-log.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import type { Call, LogReply } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { copyAll, copyStateOf, openCopy, readCopy } from "../log-copy.ts";
import { controlLine } from "../wire/control-lines.ts";
import { piecesOf, textOf, withInstants } from "../wire/log-pieces.ts";
import { neutralise } from "../wire/neutralise.ts";
import { exitCodeOf } from "./jobs.ts";
import { provisionLogOf } from "./provision-log.ts";
import { findLastQueue, keepQueue, type LastQueue } from "./queue-snapshot.ts";
import type { Cluster } from "./schema.ts";

const megabyte = 2 ** 20;

/** The ends of a cluster's latest job logs, copied before its nodes go, for those who read them afterwards. */

const folderOf = (ctx: Ground, { id }: Pick<Cluster, "id">): string =>
  join(dirname(provisionLogOf(ctx, id)), "jobs");

const fileOf = (ctx: Ground, cluster: Pick<Cluster, "id">, jobId: number): string =>
  join(folderOf(ctx, cluster), `${jobId}.log`);

/** Copies what the latest jobs printed last, as far as that can be. Rejects on abort. */
export async function keepLastLogs(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<void> {
  // Managed jobs and services keep the logs of theirs themselves.
  if (ctx.config.lastLogJobs === 0 || cluster.madeFor !== null) return;
  try {
    await rm(folderOf(ctx, cluster), { recursive: true, force: true });
    await keepQueue(ctx, cluster, signal);
    const { jobs = [] } = (await findLastQueue(ctx, cluster)) ?? {};
    for (const { id } of jobs.slice(0, ctx.config.lastLogJobs))
      await keepLog(ctx, cluster, id, signal);
  } catch (err) {
    ctx.log.warn({ err, clusterId: cluster.id }, "last logs of jobs not fetched");
  }
}

async function keepLog(ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) {
  const query = { id, tail: ctx.config.lastLogLines, offset: 0, follow: "false" } as const;
  const { headers, body } = await ctx.agent(cluster, 0).open(api.readLog, query, signal);
  const most = ctx.config.jobLogMegabytes * megabyte;
  const gapOf = (sizeBytes: number) => jobLogGap(sizeBytes, most);
  await using copy = await openCopy(fileOf(ctx, cluster, id), { gapOf });
  await copyAll(copy, Number(headers[logOffsetHeader] ?? 0), body);
  await copy.finish();
}

type Input = InputOf<typeof rows.logs>;

/** The copy of the log of a job, by default of the latest, of a cluster that is off or gone. */
interface Kept {
  readonly job: Job;
  readonly file: string;
  readonly gap: Gap | null;
  /** How old its last lines are. */
  readonly at: number;
}

async function findKept(
  ctx: Ground,
  cluster: Cluster,
  jobId: number | null,
): Promise<Kept | undefined> {
  if (cluster.status !== "STOPPED" && cluster.status !== "GONE") return undefined;
  const last = await findLastQueue(ctx, cluster);
  const job = last?.jobs.find(({ id }) => jobId === null || jobId === id);
  if (last === undefined || job === undefined) return undefined;
  const file = fileOf(ctx, cluster, job.id);
  const { gap, isWhole } = await copyStateOf(file);
  return isWhole ? { job, file, gap, at: endOf(job, last) } : undefined;
}

/** The copied log of a job, by default of the latest, of a cluster that is off or gone; undefined where there is none. */
export async function openLastLog(
  ctx: Ground,
  cluster: Cluster,
  input: Input,
  call: Call,
): Promise<LogReply | undefined> {
  const kept = await findKept(ctx, cluster, input.job_id);
  if (kept === undefined) return undefined;
  const lines = await offsetOfLastLines(kept.file, Math.max(input.tail, 0), kept.gap);
  const start = Math.max(lines, input.offset);
  return {
    headers: { [logOffsetHeader]: String(start) },
    body: Readable.from(textFrom(kept, start, cluster, input, call)),
    exitCode: async () => exitCodeOf(kept.job),
  };
}

/** The same as it lies here, to be copied; with the job that it is of. */
export async function readLastLog(ctx: Ground, cluster: Cluster, jobId: number | null) {
  const kept = await findKept(ctx, cluster, jobId);
  if (kept === undefined) return undefined;
  return { id: kept.job.id, chunks: neutralise(readCopy(kept.file, 0, async () => true)) };
}

const endOf = ({ endedAt }: Job, { at }: LastQueue): number => endedAt ?? at;

async function* textFrom(
  { job: { id }, file, at }: Kept,
  start: number,
  { name, status, wantedBecause }: Cluster,
  { timestamps, since }: Input,
  { program }: Call,
): AsyncGenerator<Buffer> {
  const source = `Job ${id}: the copy of its log from when cluster ${name} became ${status} (${wantedBecause})`;
  yield Buffer.from(program === product.word ? controlLine("rich_update", source) : `${source}\n`);
  if (since !== null && since * 1_000 > at) return;
  const growth = async () => [{ size: await sizeOf(file), at }];
  const pieces = piecesOf(
    start,
    readCopy(file, start, async () => true),
    growth,
  );
  yield* timestamps ? withInstants(pieces) : neutralise(textOf(pieces));
}
