import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Health } from "../../contract/agent-shapes.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import type { NodeState, Provider } from "../providers/provider.ts";
import { healthTimeoutMs } from "./answers.ts";
import { elapsed, remark } from "./provision-log.ts";
import type { Cluster } from "./schema.ts";

const agentStartMs = 30_000;
const createAgainMs = 3_000;
/** What one question and the pause after it count for at most. */
const turnMs = healthTimeoutMs + 1_000;
/** An agent that does not answer for so long is taken for hung, and replaced. */
const hungMs = 5_000;
/** An agent that is of another build still after so many turns is not ours to replace. */
const turnsAtMost = 3;

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

/** What brings a silent agent back, on a node that is there. */
export const backAgain: CreateOptions = { news: "has a running agent again", onlyAgent: true };

/** What replaces an agent of another version, on a node that is there. */
export const newVersion: CreateOptions = {
  ...backAgain,
  news: "has an agent of this version",
  replaces: true,
};

/** Whether an agent runs other code than the one that its provider starts. */
export const isOutdated = ({ agentBuild }: Provider, { build }: Health): boolean =>
  agentBuild !== undefined && build !== agentBuild;

/**
 * Creates a node, or its agent, and waits until that answers; undefined where it queues for a machine.
 * Throws `UnreachableError` when it does not in time, and `CloudError` when the agent that was to be
 * replaced comes back each time.
 */
export async function create(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  { news, replaces = false, withinMs = agentStartMs, onlyAgent = false }: CreateOptions,
  signal: AbortSignal,
): Promise<Health | undefined> {
  const since = ctx.now();
  const provider = ctx.provider(cluster.provider);
  const begin = async () => {
    if (onlyAgent && !(await isIn("running", ctx, cluster, rank, signal))) return false;
    // A node that has just booted has started it.
    if (onlyAgent && !replaces && (await answers(ctx, cluster, rank, signal))) return true;
    await provider.create(cluster, rank, signal);
    return provider.queues !== true || !(await isIn("pending", ctx, cluster, rank, signal));
  };
  for (let turn = 1; ; turn += 1) {
    if (replaces) await provider.endAgent?.(nodeIdOf(cluster, rank), signal);
    const health = await beginUntilAnswer(ctx, cluster, rank, { begin, withinMs }, signal);
    if (health === undefined) return undefined;
    if (!replaces || !isOutdated(provider, health)) {
      await remark(ctx, cluster.id, `node ${rank} ${news} (${elapsed(since, ctx.now())})`);
      return health;
    }
    if (turn === turnsAtMost) refuseBuild(ctx, cluster, rank, health);
  }
}

/** Nobody listens meanwhile: each agent that comes and goes would have it tried again at once. */
function refuseBuild(ctx: Context, cluster: Cluster, rank: number, { build }: Health): never {
  const { id, name } = cluster;
  const { agentBuild } = ctx.provider(cluster.provider);
  ctx.watches.forget(id);
  fail(
    "CloudError",
    `node ${rank} of ${name} has an agent of build ${build} again although it is replaced by ` +
      `build ${agentBuild}: something else starts it there; stop that (a unit of systemd, ` +
      "another control plane), then start the cluster again, or take it down",
  );
}

async function isIn(
  state: NodeState["state"],
  ctx: Context,
  cluster: Cluster,
  rank: number,
  signal: AbortSignal,
) {
  const nodes = await ctx.provider(cluster.provider).list(cluster, signal);
  return nodes.some((node) => node.rank === rank && node.state === state);
}

/**
 * Undefined when it cannot be begun. Only the time in which the agent is asked counts: neither how long its
 * program takes to the node, nor the time that control itself was frozen.
 */
async function beginUntilAnswer(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  { begin, withinMs }: { begin: () => Promise<boolean>; withinMs: number },
  signal: AbortSignal,
): Promise<Health | undefined> {
  const provider = ctx.provider(cluster.provider);
  const agent = ctx.agent(cluster, rank);
  let waitedMs = 0;
  let hungAt = hungMs;
  let createAt = 0;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 500)) {
    const isHung = waitedMs > hungAt;
    if (isHung) {
      await provider.endAgent?.(nodeIdOf(cluster, rank), signal);
      hungAt = Number.POSITIVE_INFINITY;
    }
    // Again, as an agent may die at its start.
    if (isHung || waitedMs >= createAt) {
      if (!(await begin())) return undefined;
      createAt = waitedMs + createAgainMs;
    }
    const since = performance.now();
    const answer = await askHealth(agent, signal);
    if (!(answer instanceof AppError)) return answer;
    if (waitedMs > withinMs) throw answer;
    await sleep(pauseMs, undefined, { signal });
    waitedMs += Math.min(performance.now() - since, turnMs);
  }
}

async function answers(ctx: Context, cluster: Cluster, rank: number, signal: AbortSignal) {
  return !((await askHealth(ctx.agent(cluster, rank), signal)) instanceof AppError);
}

/** What an agent answers, or why it does not. */
async function askHealth(agent: Agent, signal: AbortSignal): Promise<Health | AppError> {
  const options = { signal, timeoutMs: healthTimeoutMs };
  try {
    return await agent.call(agentOperations.health, {}, options);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.type === "UnreachableError") return error;
    throw error;
  }
}
