import type { Cluster } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import type { Failure } from "../requests/schema.ts";
import { want } from "../want.ts";
import { balancerPlanOf, closingPlanOf } from "./balancing/plan.ts";
import { moveService } from "./move.ts";
import { setReplica } from "./replicas/store.ts";
import { drainMs, isOpen, type Replica, wordsOf } from "./schema.ts";
import type { State } from "./state.ts";
import { setService } from "./store.ts";

/** Finishes what is open, removes the replicas of a service, and then ends its balancer. */
export async function goDown(ctx: Context, state: State, signal: AbortSignal): Promise<void> {
  const { service, replicas } = state;
  if (service.status !== "FAILED_CLEANUP")
    await moveService(ctx, service, "SHUTTING_DOWN", service.wantedBecause);
  // Control may have begun anew since the balancer was last heard.
  const isBalanced = !service.isPool && (await ctx.balancers.adopt(service, signal));
  const mayDrain = isBalanced || service.isPool;
  await sendAway(ctx, state, mayDrain ? ctx.now().getTime() + drainMs : null);
  if (isBalanced) await close(ctx, state, signal);
  for (const { id } of replicas) void nudge(ctx, "replica", id);
  if (replicas.length > 0) return tellStuck(ctx, state);
  if (!service.isPool) await ctx.balancers.end(service, 0, signal);
  await moveService(ctx, service, "GONE", service.wantedBecause);
}

async function sendAway(ctx: Ground, state: State, drainUntil: number | null): Promise<void> {
  const { wantedBecause: because } = state.service;
  const staying = state.replicas.filter(({ wanted }) => wanted === "UP");
  if (staying.length === 0) return;
  await ctx.batch(async (tx) => {
    for (const one of staying) {
      await want(tx, "replica", one.id, { wanted: "GONE", because });
      if (isOpen(one)) await setReplica(tx, one.id, { drainUntil });
    }
  });
}

/** Has the balancer take nothing new. */
async function close(ctx: Context, state: State, signal: AbortSignal): Promise<void> {
  const { service, replicas, spec: goal, opened: versions } = state;
  const open = replicas.filter(isOpen);
  const roles = new Map(open.map(({ number }) => [number, "draining" as const]));
  const plan = balancerPlanOf(replicas, roles, { goal, versions });
  await ctx.balancers.plan(service, closingPlanOf(plan), signal);
}

/** Says so where a cluster does not go; control keeps trying. */
async function tellStuck(ctx: Ground, { service, replicas }: State): Promise<void> {
  const { member } = wordsOf(service);
  const problem = (await Promise.all(replicas.map((one) => problemOf(ctx, one, member)))).find(
    (one) => one !== undefined,
  );
  if (problem?.message !== service.problem?.message)
    await ctx.batch((tx) => setService(tx, service.id, { problem: problem ?? null }));
  const status = problem === undefined ? "SHUTTING_DOWN" : "FAILED_CLEANUP";
  await moveService(ctx, service, status, problem?.message ?? service.wantedBecause);
}

async function problemOf(
  ctx: Ground,
  replica: Replica,
  member: string,
): Promise<Failure | undefined> {
  const cluster = await findCluster(ctx.db, replica.clusterId ?? replica.id);
  if (!isStuck(cluster)) return undefined;
  const message = `${member} ${replica.number} cannot be removed: ${cluster.problem.message}`;
  return { ...cluster.problem, message };
}

type Stuck = Cluster & { problem: Failure };

const isStuck = (cluster: Cluster | undefined): cluster is Stuck =>
  cluster?.wanted === "GONE" && cluster.status !== "GONE" && cluster.problem !== null;
