import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import { elapsed, remark } from "./provision-log.ts";
import type { Cluster } from "./schema.ts";
import { getCluster } from "./store.ts";

const agentStartMs = 30_000;
const createAgainMs = 3_000;
const healthTimeoutMs = 2_000;
/** An agent that does not answer for so long is taken for hung, and replaced. */
const hungMs = 5_000;

export interface CreateOptions {
  /** What the cluster's events say of it. */
  readonly news: string;
  /** Ends the agent that is there first. */
  readonly replaces?: boolean;
  /** How long the agent has to answer. */
  readonly withinMs?: number;
  /** It is the agent that may be missing: a node that is gone is not made anew. */
  readonly onlyAgent?: boolean;
}

/**
 * Creates a node, or its agent, and waits until that answers, or until something else is wanted.
 * Throws `UnreachableError` when it does not in time.
 */
export async function create(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  { news, replaces = false, withinMs = agentStartMs, onlyAgent = false }: CreateOptions,
  signal: AbortSignal,
): Promise<void> {
  const since = ctx.now();
  const provider = ctx.provider(cluster.provider);
  if (replaces) await provider.endAgent?.(nodeIdOf(cluster, rank), signal);
  const begin = async () => {
    if (onlyAgent && !(await isRunning(ctx, cluster, rank, signal))) return false;
    await provider.create(cluster, rank, signal);
    return true;
  };
  if (await beginUntilAnswer(ctx, cluster, rank, { begin, withinMs }, signal))
    await remark(ctx, cluster.id, `node ${rank} ${news} (${elapsed(since, ctx.now())})`);
}

async function isRunning(ctx: Context, cluster: Cluster, rank: number, signal: AbortSignal) {
  const nodes = await ctx.provider(cluster.provider).list(cluster, signal);
  return nodes.some((node) => node.rank === rank && node.state === "running");
}

/** False when it cannot be begun, or when something else came to be wanted of the cluster. */
async function beginUntilAnswer(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  { begin, withinMs }: { begin: () => Promise<boolean>; withinMs: number },
  signal: AbortSignal,
): Promise<boolean> {
  const provider = ctx.provider(cluster.provider);
  const agent = ctx.agent(cluster, rank);
  const waited = openStopwatch(ctx);
  let hungAt = hungMs;
  let createAt = 0;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 500)) {
    const isHung = waited.ms() > hungAt;
    if (isHung) {
      await provider.endAgent?.(nodeIdOf(cluster, rank), signal);
      hungAt = Number.POSITIVE_INFINITY;
    }
    // Again, as an agent may die at its start.
    if (isHung || waited.ms() >= createAt) {
      if (!(await waited.without(begin))) return false;
      createAt = waited.ms() + createAgainMs;
    }
    const silence = await silenceOf(agent, signal);
    if (silence === undefined) return true;
    if (waited.ms() > withinMs) throw silence;
    if ((await getCluster(ctx.db, cluster.id)).wanted !== cluster.wanted) return false;
    await sleep(pauseMs, undefined, { signal });
  }
}

/** How long an agent had to answer: taking its program to a node may take minutes, and is not its time. */
function openStopwatch({ now }: Context) {
  let since = now().getTime();
  return {
    ms: () => now().getTime() - since,
    async without<T>(work: () => Promise<T>): Promise<T> {
      const from = now().getTime();
      const result = await work();
      since += now().getTime() - from;
      return result;
    },
  };
}

/** Why an agent does not answer; undefined when it does. */
async function silenceOf(agent: Agent, signal: AbortSignal): Promise<AppError | undefined> {
  try {
    await agent.call(agentOperations.health, {}, { signal, timeoutMs: healthTimeoutMs });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.type === "UnreachableError") return error;
    throw error;
  }
}
