import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Context } from "../context.ts";
import { move } from "../move.ts";
import type { NodeState } from "../providers/provider.ts";
import type { Reconciler } from "../reconciler.ts";
import { failureOf } from "../requests/schema.ts";
import { act } from "./act.ts";
import { type Observed, plans } from "./plan.ts";
import { remark } from "./provision-log.ts";
import { type Cluster, clusterKey, settingsOf } from "./schema.ts";
import { findCluster, listUnsettled, listUp, setProblem } from "./store.ts";

const healthTimeoutMs = 2_000;
/** More rounds than any way from one wish to another takes. */
const roundsAtMost = 20;

/** Brings clusters from what is to what is wanted. */
export const clusters: Reconciler = {
  name: "cluster",
  everyMs: 5_000,
  atOnce: 16,
  due,
  reconcile,
};

/** Clusters that are not what is wanted, and those that are up and nobody listens to. */
async function due(ctx: Context): Promise<string[]> {
  const unheard = (await listUp(ctx.db)).filter((id) => !ctx.watches.has(id));
  return [...(await listUnsettled(ctx.db)), ...unheard];
}

/** Observe, plan, act, until nothing is left to do. */
async function reconcile(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  for (let round = 0; round < roundsAtMost; round += 1) {
    const cluster = await findCluster(ctx.db, id);
    if (cluster === undefined || cluster.status === "GONE") return ctx.watches.forget(id);
    try {
      if (!(await goOn(ctx, cluster, signal))) return ctx.watches.keep(cluster);
    } catch (error) {
      if (!signal.aborted) await tellProblem(ctx, cluster, error);
      throw error;
    }
  }
  throw new AppError("InternalError", `cluster ${id} does not settle`);
}

/** One round; false when there was nothing to do. */
async function goOn(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<boolean> {
  const nodes = await observe(ctx, cluster, signal);
  const steps = plans[cluster.wanted](cluster, nodes);
  for (const step of steps)
    await Promise.all(step.map((action) => act(ctx, cluster, nodes, action, signal)));
  if (cluster.problem !== null && cluster.status === cluster.wanted)
    await setProblem(ctx.db, cluster, null);
  return steps.length > 0;
}

async function observe(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<Observed[]> {
  const nodes = await ctx.provider(cluster.provider).list(cluster, signal);
  return Promise.all(
    nodes.map(async (node) => ({
      ...node,
      agent: cluster.wanted === "UP" ? await askAgent(ctx, cluster, node, nodes, signal) : "off",
    })),
  );
}

async function askAgent(
  ctx: Context,
  cluster: Cluster,
  node: NodeState,
  nodes: NodeState[],
  signal: AbortSignal,
): Promise<Observed["agent"]> {
  if (node.state !== "running") return "off";
  const options = { signal, timeoutMs: healthTimeoutMs };
  const health = await ctx
    .agent(cluster, node.rank)
    .call(agentOperations.health, {}, options)
    .catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
  if (health === undefined) return "silent";
  const { agentBuild = health.build } = ctx.provider(cluster.provider);
  if (health.build !== agentBuild) return "outdated";
  const place = settingsOf(cluster, node.rank, nodes);
  return isDeepStrictEqual(health.node, place) ? "well" : "unset";
}

/** Keeps why it failed, tells of it unless it is what failed before, and no longer calls a cluster UP that could not be made whole. */
async function tellProblem(ctx: Context, cluster: Cluster, error: unknown): Promise<void> {
  const ending = failureOf(error);
  if (ending.status !== "FAILED") return;
  const { message } = ending.failure;
  await setProblem(ctx.db, cluster, ending.failure);
  if (cluster.problem?.message !== message) await remark(ctx, cluster.id, `failed: ${message}`);
  if (cluster.status === "UP" && cluster.wanted === "UP")
    await move(ctx, clusterMachine, cluster, "INIT", message);
  ctx.changes.notify(clusterKey(cluster.id));
}
