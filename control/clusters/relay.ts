import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { JobPart, Part } from "../../contract/agent-shapes.ts";
import type { Context } from "../context.ts";
import type { Cluster } from "./schema.ts";

/**
 * Carries the ranks of jobs between the head and its workers, which have no way to each other:
 * what the head wants goes to the worker, how the worker's rank fares and what it prints comes
 * back. Whoever was away compares states, so nothing depends on a message.
 */
export interface Relays {
  /** Has the states of head and workers compared soon. */
  sync(): void;
  /** Resolves once everything ended, after the signal. */
  done(): Promise<void>;
}

const retryMs = 300;

/** Opens the relays of a cluster; they work until the signal aborts. */
export function openRelays(ctx: Context, cluster: Cluster, signal: AbortSignal): Relays {
  const pumps: Pumps = new Map();
  let again = false;
  let running: Promise<void> | undefined;

  function sync(): void {
    again = true;
    running ??= syncAll().finally(() => {
      running = undefined;
    });
  }

  async function syncAll(): Promise<void> {
    while (again && !signal.aborted) {
      again = false;
      try {
        await syncJobs(ctx, cluster, pumps, signal);
      } catch (error) {
        if (signal.aborted) return;
        ctx.log.debug({ err: error, clusterId: cluster.id }, "ranks not relayed");
        await sleep(retryMs, undefined, { signal }).catch(() => {});
        again = true;
      }
    }
  }

  return {
    sync,
    async done() {
      await running;
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
      await allEnd(waiting.map((part) => syncPart(ctx, cluster, id, part, pumps, signal)));
    });
  await allEnd(rounds);
}

/** Waits for all of them, then throws what the first that failed threw. */
async function allEnd(promises: Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(promises)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
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
  const { status, exitCode } = state;
  await head.call(api.reportPart, { id, rank, status, exitCode }, { signal });
}

/** A worker that does not know the job yet gets its spec. */
async function tellWorker(
  ctx: Context,
  cluster: Cluster,
  id: number,
  { rank, wanted, graceMs }: JobPart,
  signal: AbortSignal,
): Promise<Part> {
  const worker = ctx.agent(cluster, rank);
  try {
    return await worker.call(api.putPart, { id, wanted, graceMs }, { signal });
  } catch (error) {
    if (!(error instanceof AppError) || error.type !== "ValueError") throw error;
  }
  const spec = await ctx.agent(cluster, 0).call(api.getPartSpec, { id }, { signal });
  return worker.call(api.putPart, { id, wanted, graceMs, spec }, { signal });
}

/** Hands the head what a worker's rank prints, from where the head stands, until the rank ended. */
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
    const from = { id, offset, follow: "true" };
    const { body } = await worker.open(api.readPartLog, from, signal);
    for await (const chunk of body) {
      await head.call(api.appendPartLog, { id, rank, offset }, { signal, bytes: chunk });
      offset += chunk.length;
    }
  } catch (error) {
    if (!signal.aborted) ctx.log.debug({ err: error, id, rank }, "log of a rank broke off");
  }
  return offset;
}
