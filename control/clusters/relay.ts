import { AppError, fail } from "../../common/errors.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { JobPart, Part } from "../../contract/agent-shapes.ts";
import { logOffsetHeader } from "../../contract/job-log.ts";
import { nodeLost } from "../../contract/job-loss.ts";
import type { Context } from "../context.ts";
import { settleAll } from "../settle-all.ts";
import { openRounds, type Rounds } from "./repeating-work.ts";
import type { Cluster } from "./schema.ts";

/**
 * Carries the ranks of jobs between the head and its workers, which have no way to each other:
 * what the head wants goes to the worker, how the worker's rank fares and what it prints comes
 * back. Whoever was away compares states, so nothing depends on a message.
 */
export function openRelays(ctx: Context, cluster: Cluster, signal: AbortSignal): Rounds {
  const pumps: Pumps = new Map();
  const rounds = openRounds(
    () => syncJobs(ctx, cluster, pumps, signal),
    (err) => ctx.log.debug({ err, clusterId: cluster.id }, "ranks not relayed"),
    signal,
  );
  return {
    ...rounds,
    async done() {
      await rounds.done();
      await Promise.all(pumps.values());
    },
  };
}

/** The logs on their way, by job and rank; each resolves with the bytes that the head then has. */
type Pumps = Map<string, Promise<number>>;

/** One round over all ranks. A worker that cannot be reached holds up only its own. */
async function syncJobs(
  ctx: Context,
  cluster: Cluster,
  pumps: Pumps,
  signal: AbortSignal,
): Promise<void> {
  const head = ctx.agent(cluster, 0);
  const jobs = await head.call(api.listJobs, { active: "true" }, { signal });
  const rounds = jobs
    .filter(({ nodes }) => nodes > 1)
    .map(async ({ id }) => {
      const parts = await head.call(api.listParts, { id }, { signal });
      const waiting = parts.filter(({ rank, status }) => rank > 0 && status !== "ENDED");
      await settleAll(waiting.map((part) => syncPart(ctx, cluster, id, part, pumps, signal)));
    });
  await settleAll(rounds);
}

async function syncPart(
  ctx: Context,
  cluster: Cluster,
  id: number,
  part: JobPart,
  pumps: Pumps,
  signal: AbortSignal,
): Promise<void> {
  const { rank, wanted } = part;
  const head = ctx.agent(cluster, 0);
  const state = await tellWorker(ctx, cluster, id, part, signal);
  const key = `${id}-${rank}`;
  const pump = pumps.get(key) ?? pumpLog(ctx, cluster, id, part, signal);
  pumps.set(key, pump);
  void pump.finally(() => pumps.delete(key));
  if (state.status === "ENDED" && (await pump) < state.logBytes)
    fail("UnreachableError", `the log of rank ${rank} is not whole yet`);
  if (state.status === part.status && wanted !== "end") return;
  const { status, exitCode, reason } = state;
  await head.call(api.reportPart, { id, rank, status, exitCode, reason }, { signal });
}

/**
 * A worker that does not know the job yet gets its spec. One that had begun and does not know it is
 * another node than it was, and what it ran is lost with that one.
 */
async function tellWorker(
  ctx: Context,
  cluster: Cluster,
  id: number,
  { rank, wanted, graceMs, status, logBytes }: JobPart,
  signal: AbortSignal,
): Promise<Part> {
  const worker = ctx.agent(cluster, rank);
  try {
    return await worker.call(api.putPart, { id, wanted, graceMs }, { signal });
  } catch (error) {
    const isKnown = await knows(ctx, cluster, rank, error, signal);
    if (isKnown) throw error;
  }
  if (status !== "WAITING") return lostPart(id, rank, logBytes);
  const spec = await ctx.agent(cluster, 0).call(api.getPartSpec, { id }, { signal });
  return worker.call(api.putPart, { id, wanted, graceMs, spec }, { signal });
}

/** Whether the node of a rank may know the job that it was asked about: one that is gone does not. */
async function knows(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  error: unknown,
  signal: AbortSignal,
): Promise<boolean> {
  if (!(error instanceof AppError) || signal.aborted) return true;
  if (error.type !== "UnreachableError") return error.type !== "ValueError";
  const nodes = await ctx.provider(cluster.provider).list(cluster, signal);
  return nodes.some((node) => node.rank === rank);
}

const lostPart = (jobId: number, rank: number, logBytes: number): Part => {
  const reason = nodeLost(rank);
  return { jobId, status: "ENDED", exitCode: null, reason, logBytes };
};

/**
 * Hands the head what a worker's rank prints, from where the head stands, until the rank ended. A log ends
 * where its worker left bytes out, and goes on behind them when it is opened again.
 */
async function pumpLog(
  ctx: Context,
  cluster: Cluster,
  id: number,
  { rank, logBytes }: JobPart,
  signal: AbortSignal,
): Promise<number> {
  const head = ctx.agent(cluster, 0);
  const worker = ctx.agent(cluster, rank);
  let offset = logBytes;
  try {
    for (let isDone = false; !isDone; ) {
      const from = offset;
      const log = { id, offset, follow: "true" } as const;
      const { body, headers } = await worker.open(api.readPartLog, log, signal);
      offset = Number(headers[logOffsetHeader] ?? offset);
      let place: object = { offset, ...(offset > from && { leftOutFrom: from }) };
      for await (const chunk of body) {
        await head.call(
          api.appendPartLog,
          { id, rank, offset, ...place },
          { signal, bytes: chunk },
        );
        offset += chunk.length;
        place = {};
      }
      isDone = offset === from;
    }
  } catch (error) {
    if (!signal.aborted) ctx.log.debug({ err: error, id, rank }, "log of a rank was interrupted");
  }
  return offset;
}
