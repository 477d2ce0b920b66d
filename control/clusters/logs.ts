import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { InputOf } from "../../common/operation.ts";
import { agentOperations as agentApi } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import { gapLine } from "../../contract/hooks.ts";
import { firstLogBytes, logOffsetHeader } from "../../contract/job-log.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Call, LogReply } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { type LogPiece, type ReadGrowth, textOf, withInstants } from "../wire/log-pieces.ts";
import { neutralise } from "../wire/neutralise.ts";
import { findPast, getReadable, noSuchCluster } from "./find.ts";
import { headOf } from "./head.ts";
import { withLines } from "./job-lines.ts";
import { exitCodeOf, findJob, latestJobId } from "./jobs.ts";
import { openLastLog } from "./last-logs.ts";
import { type Cluster, clusterKey } from "./schema.ts";
import { findCluster } from "./store.ts";

/** How long an agent may be away before a follower gives up. */
const patienceMs = 120_000;

/**
 * Streams a job's log byte for byte; of a cluster that is off or gone, the end of it that was copied before. Its exit
 * code tells how the job fared.
 */
export async function logs(
  ctx: Context,
  input: InputOf<typeof rows.logs>,
  call: Call,
): Promise<LogReply> {
  const newest = await findPast(ctx, input.cluster_name, call);
  if (newest === undefined) return noSuchCluster(ctx, input.cluster_name, call);
  const kept = await openLastLog(ctx, newest, input, call);
  if (kept !== undefined) return kept;
  if (newest.status === "GONE") return noSuchCluster(ctx, input.cluster_name, call);
  const cluster = await getReadable(ctx, input.cluster_name);
  const id = input.job_id ?? (await latestJobId(ctx, cluster, call.signal));
  const job = await findJob(ctx, cluster, id, call.signal);
  if (job === undefined) return notFound(cluster, id);
  const { tail, follow } = input;
  const since = input.since === null ? undefined : input.since * 1_000;
  // The byte before says whether a line begins at the offset.
  const offset = Math.max(0, input.offset - (input.timestamps ? 1 : 0));
  const query = { id, tail: Math.max(tail, 0), offset, follow: follow ? "true" : "false", since };
  const { start, pieces } = await openJobLog(ctx, cluster, query, call.signal);
  const isEarly = start < input.offset;
  const chunks = input.timestamps ? withInstants(pieces, isEarly) : neutralise(textOf(pieces));
  const look = () => findUnlessGone(ctx, cluster, id, call.signal);
  const text = withLines(call, {
    ...{ nodes: job.nodes, isWhole: start === 0, ended: look },
    chunks,
    waits: () => waitsOf(ctx, cluster, job, { follow, look }, call.signal),
    begun: async () => (follow ? untilBegun(ctx, cluster, look, call.signal) : job),
  });
  return {
    headers: { [logOffsetHeader]: String(isEarly ? input.offset : start) },
    body: Readable.from(text),
    exitCode: () => exitCodeAfter(ctx, cluster, id, call.signal),
  };
}

function notFound(cluster: Cluster, id: number): LogReply {
  const text = `cluster ${cluster.name} has no job ${id}\n`;
  return { body: text, exitCode: async () => jobExitCodes.NOT_FOUND };
}

interface Query {
  readonly id: number;
  readonly tail: number;
  readonly offset: number;
  readonly follow: string;
  /** Epoch milliseconds: only lines that ended then or later. */
  readonly since?: number | undefined;
}

/** The log of a job from where it is asked for, and at which byte that is. */
export async function openJobLog(
  ctx: Context,
  cluster: Cluster,
  query: Query,
  signal: AbortSignal,
) {
  const first = await headOf(ctx, cluster).open(agentApi.readLog, query, signal);
  const start = Number(first.headers[logOffsetHeader] ?? query.offset);
  return { start, pieces: readPieces(ctx, cluster, query, start, first.body, signal) };
}

/**
 * The bytes of a log, with a line where some were left out; an agent that went away is asked again from
 * where it left off, unless its cluster goes away too.
 */
async function* readPieces(
  ctx: Context,
  cluster: Cluster,
  { id, follow }: Query,
  start: number,
  first: Readable,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const growth = growthOf(ctx, cluster, id, signal);
  let offset = start;
  let body: Readable | undefined = first;
  for (let awaySince: number | undefined; ; body = undefined) {
    try {
      const from = offset;
      if (body === undefined) {
        const rest = { id, follow, offset };
        const opened = await ctx.agent(cluster, 0).open(agentApi.readLog, rest, signal);
        offset = Number(opened.headers[logOffsetHeader] ?? offset);
        body = opened.body;
        if (offset > from) yield { bytes: Buffer.from(gapLine({ from, to: offset })), at: offset };
      }
      awaySince = undefined;
      for await (const bytes of body) {
        const at = offset;
        offset += bytes.length;
        yield { bytes, at, growth };
      }
      // Before that nothing is ever left out; later on there may be more behind a gap.
      if (offset < firstLogBytes || (offset === from && body !== first)) return;
    } catch (error) {
      awaySince ??= performance.now();
      if (signal.aborted || performance.now() - awaySince > patienceMs) throw error;
      if ((await findCluster(ctx.db, cluster.id))?.wanted !== "UP") return;
      await sleep(100, undefined, { signal });
    }
  }
}

/** Where the head cannot say when its log grew, the log is shown without. */
const growthOf =
  (ctx: Context, cluster: Cluster, id: number, signal: AbortSignal): ReadGrowth =>
  (after) =>
    headOf(ctx, cluster)
      .call(agentApi.listLogGrowth, { id, after }, { signal })
      .catch(() => {
        signal.throwIfAborted();
        return [];
      });

type Look = () => Promise<Job | undefined>;

/** What a job waits for, and again when that changes, until it begins or ends. */
async function* waitsOf(
  ctx: Ground,
  { id }: Cluster,
  job: Job,
  { follow, look }: { follow: boolean; look: Look },
  signal: AbortSignal,
): AsyncGenerator<string> {
  for (let seen: Job | undefined = job; seen?.status === "PENDING"; ) {
    const reason: string | null = seen.reason;
    if (reason !== null) yield `Job ${job.id} ${reason}`;
    if (!follow) return;
    const hasChanged = async (): Promise<{ now: Job | undefined } | undefined> => {
      const now = await look();
      return now?.status === "PENDING" && now.reason === reason ? undefined : { now };
    };
    seen = (await ctx.changes.until(clusterKey(id), hasChanged, signal)).now;
  }
}

/** The job once it has begun or ended; undefined where it is gone before. */
async function untilBegun(ctx: Ground, { id }: Cluster, look: Look, signal: AbortSignal) {
  const hasBegun = async () => {
    const job = await look();
    return job?.status === "PENDING" ? undefined : { job };
  };
  return (await ctx.changes.until(clusterKey(id), hasBegun, signal)).job;
}

/** The job; undefined also where its cluster cannot be asked any more. */
const findUnlessGone = (ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) =>
  findJob(ctx, cluster, id, signal).catch(() => {
    signal.throwIfAborted();
    return undefined;
  });

/** Jobs are ended before their cluster goes; one that went cannot be asked any more. */
async function exitCodeAfter(
  ctx: Context,
  cluster: Cluster,
  id: number,
  signal: AbortSignal,
): Promise<number> {
  try {
    return exitCodeOf(await findJob(ctx, cluster, id, signal));
  } catch (error) {
    const isGoing = (await findCluster(ctx.db, cluster.id))?.wanted !== "UP";
    if (isGoing && !signal.aborted) return jobExitCodes.CANCELLED;
    throw error;
  }
}
