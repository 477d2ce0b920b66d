import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Context } from "../context.ts";
import { move } from "../move.ts";
import { nodeIdOf } from "./agents.ts";
import type { Action, Observed } from "./plan.ts";
import { elapsed, narrate, remark } from "./provision-log.ts";
import { agentAutostop, type Cluster, settingsOf } from "./schema.ts";
import { beginUsage, endUsage, getCluster, setUp } from "./store.ts";

const agentStartMs = 30_000;
const createAgainMs = 3_000;
const healthTimeoutMs = 2_000;
/** An agent that does not answer for so long is taken for hung, and replaced. */
const hungMs = 5_000;
const jobGraceMs = 5_000;
const endJobsMs = 20_000;

/** Does one thing of a plan; every one may be repeated. */
export async function act(
  ctx: Context,
  cluster: Cluster,
  nodes: Observed[],
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  const provider = ctx.provider(cluster.provider);
  switch (action.do) {
    case "move":
      return moveCluster(ctx, cluster, nodes, action, signal);
    case "create":
      return create(ctx, cluster, action.rank, "runs", signal);
    case "revive":
      return create(ctx, cluster, action.rank, "has its agent back", signal);
    case "replace":
      await provider.endAgent?.(nodeIdOf(cluster, action.rank), signal);
      return create(ctx, cluster, action.rank, "has an agent of this version", signal);
    case "configure":
      return configure(ctx, cluster, action.rank, nodes, signal);
    case "endJobs":
      return endJobs(ctx, cluster, signal);
    case "stop": {
      ctx.watches.forget(cluster.id);
      if (provider.stop === undefined)
        fail("NotSupportedError", `${provider.name} cannot stop nodes; take the cluster down`);
      return provider.stop(action.nodeId, signal);
    }
    case "destroy":
      ctx.watches.forget(cluster.id);
      return provider.destroy(action.nodeId, signal);
  }
}

async function moveCluster(
  ctx: Context,
  cluster: Cluster,
  nodes: Observed[],
  { to, reason }: Extract<Action, { do: "move" }>,
  signal: AbortSignal,
): Promise<void> {
  if (to === "UP") await tellAutostop(ctx, await getCluster(ctx.db, cluster.id), signal);
  const at = ctx.now().getTime();
  const isOff = to === "STOPPED" || to === "GONE";
  const moved = await move(ctx, clusterMachine, cluster, to, reason, async (tx) => {
    if (to === "UP")
      await setUp(
        tx,
        cluster.id,
        nodes.map(({ address }) => address),
      );
    if (to === "UP") await beginUsage(tx, cluster.id, at);
    if (isOff) await endUsage(tx, cluster.id, at);
  });
  if (moved && isOff) ctx.agents.forget(cluster.id);
  if (moved) narrate(ctx, cluster.id, `cluster ${cluster.name} is ${to}: ${reason}`);
}

/** Creates a node and waits until its agent answers, or until something else is wanted. */
async function create(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  news: string,
  signal: AbortSignal,
): Promise<void> {
  const since = ctx.now();
  if (await createUntilAnswer(ctx, cluster, rank, signal))
    await remark(ctx, cluster.id, `node ${rank} ${news} (${elapsed(since, ctx.now())})`);
}

/** False when something else came to be wanted of the cluster meanwhile. */
async function createUntilAnswer(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  signal: AbortSignal,
): Promise<boolean> {
  const provider = ctx.provider(cluster.provider);
  const agent = ctx.agent(cluster, rank);
  const until = performance.now() + agentStartMs;
  let endAt = performance.now() + hungMs;
  let createAt = 0;
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 500)) {
    const now = performance.now();
    const isHung = now > endAt;
    if (isHung) {
      await provider.endAgent?.(nodeIdOf(cluster, rank), signal);
      endAt = Number.POSITIVE_INFINITY;
    }
    // Again, as an agent may die at its start.
    if (isHung || now > createAt) {
      await provider.create(cluster, rank, signal);
      createAt = performance.now() + createAgainMs;
    }
    try {
      await agent.call(agentOperations.health, {}, { signal, timeoutMs: healthTimeoutMs });
      return true;
    } catch (error) {
      const isUnreachable = error instanceof AppError && error.type === "UnreachableError";
      if (signal.aborted || !isUnreachable || performance.now() > until) throw error;
    }
    if ((await getCluster(ctx.db, cluster.id)).wanted !== cluster.wanted) return false;
    await sleep(pauseMs, undefined, { signal });
  }
}

async function configure(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  nodes: Observed[],
  signal: AbortSignal,
): Promise<void> {
  const agent = ctx.agent(cluster, rank);
  await agent.call(agentOperations.configure, settingsOf(cluster, rank, nodes), { signal });
  if (rank === 0) await tellAutostop(ctx, cluster, signal);
}

/** An agent keeps what it was told across a stop, also that its idle timer has run out. */
async function tellAutostop(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const head = ctx.agent(cluster, 0);
  await head.call(agentOperations.setAutostop, agentAutostop(cluster), { signal });
}

/** Ends what runs before nodes go; a head that does not answer holds nothing up. */
async function endJobs(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const head = ctx.agent(cluster, 0);
  try {
    const jobs = await head.call(
      agentOperations.listJobs,
      { active: "true" },
      { signal, timeoutMs: 2_000 },
    );
    if (jobs.length > 0) await remark(ctx, cluster.id, `ending ${jobs.length} job(s)`);
    const options = { signal, timeoutMs: endJobsMs };
    const body = { graceMs: jobGraceMs };
    await Promise.all(
      jobs.map(({ id }) => head.call(agentOperations.cancelJob, { id, ...body }, options)),
    );
  } catch (error) {
    if (signal.aborted) throw error;
    ctx.log.info({ err: error, clusterId: cluster.id }, "jobs not ended first");
  }
}
