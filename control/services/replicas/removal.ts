import { AppError } from "../../../common/errors.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { lossOf, wantGone } from "../../clusters/managed.ts";
import type { Cluster } from "../../clusters/schema.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { nudge } from "../../reconciler.ts";
import { hasFailed } from "../decisions/back-off.ts";
import type { Outcome, Replica } from "../schema.ts";
import { hasHadItsTime, isDrained } from "./drained.ts";
import { noteLastWords } from "./last-output.ts";
import { keepLog } from "./log.ts";
import { findJob } from "./outcome.ts";
import { listReplicas, setReplica } from "./store.ts";

const askedMs = 5_000;
/** How many failed replicas of a service are kept, to be looked at. */
const failedAtMost = 10;
/** And for how long, once others are ready. */
const failedMs = 3_600_000;

/**
 * Brings a replica that failed, was lost or is not wanted to its end: what is under way is finished,
 * its log is kept, its cluster goes. Undefined while that takes its time.
 */
export async function remove(
  ctx: Context,
  replica: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const { endedAt, status, wantedBecause } = replica;
  const isLeaving = endedAt === null && status !== "SHUTTING_DOWN" && status !== "FAILED_CLEANUP";
  if (isLeaving) return { to: "SHUTTING_DOWN", reason: wantedBecause };
  // Sent away while its cluster was made, it does not know it yet; the cluster has its id.
  const cluster = await findCluster(ctx.db, replica.clusterId ?? replica.id);
  if (!mayGo(ctx, replica) && !(await isLost(ctx, replica, cluster, signal))) return undefined;
  await close(ctx, replica);
  if (cluster === undefined || cluster.status === "GONE") return forget(ctx, replica);
  if (cluster.wanted === "GONE") return stuck(replica, cluster);
  if (hasFailed(replica)) await noteLastWords(ctx, cluster, replica, signal);
  await keepLog(ctx, cluster, replica, signal);
  await wantGone(ctx, cluster.id, replica.endedAt === null ? wantedBecause : replica.reason);
}

/** Whether nothing is under way there any more, or has had its time. */
function mayGo(ctx: Context, { serviceId, number, host, drainUntil }: Replica): boolean {
  const { told, seen, backAt } = ctx.balancers;
  if (host === null || drainUntil === null) return true;
  if (hasHadItsTime(drainUntil, ctx.now().getTime(), backAt())) return true;
  return isDrained(number, told(serviceId), seen(serviceId));
}

/** Whether nothing there will finish: its machine is lost, or neither its probe nor its agent is answered. */
async function isLost(
  ctx: Context,
  replica: Replica,
  cluster: Cluster | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (cluster === undefined) return true;
  const hasFailedProbe = replica.endedAt !== null;
  return hasFailedProbe ? isSilent(ctx, cluster, signal) : isTaken(ctx, cluster, replica, signal);
}

async function isSilent(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<boolean> {
  try {
    await ctx.agent(cluster, 0).call(api.health, {}, { signal, timeoutMs: askedMs });
    return false;
  } catch (error) {
    signal.throwIfAborted();
    return error instanceof AppError && error.type === "UnreachableError";
  }
}

/** While its provider does not say, it is not. */
async function isTaken(
  ctx: Context,
  cluster: Cluster,
  replica: Replica,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    if ((await lossOf(ctx, cluster, signal)) !== undefined) return true;
    return (await findJob(ctx, cluster, replica, signal)) === "unknown";
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** One that failed stays to be looked at, unless it is sent away, it has been long, or too many came after it. */
async function forget(ctx: Ground, replica: Replica): Promise<Outcome | undefined> {
  const { wanted, serviceId, number, reason, endedAt } = replica;
  const gone = { to: "GONE", reason: "it has been removed" } as const;
  if (wanted === "GONE" || !hasFailed(replica)) return gone;
  const others = await listReplicas(ctx.db, serviceId);
  const later = others.filter((one) => hasFailed(one) && one.number > number);
  const isOld = ctx.now().getTime() - (endedAt ?? 0) > failedMs;
  const isOver = isOld && others.some(({ status }) => status === "READY");
  return isOver || later.length >= failedAtMost ? { to: "GONE", reason } : undefined;
}

/** Its balancer need not know any more of it: what is still under way there is waited for no longer. */
async function close(ctx: Context, { id, serviceId, drainUntil }: Replica): Promise<void> {
  if (drainUntil === null) return;
  await ctx.batch((tx) => setReplica(tx, id, { drainUntil: null }));
  void nudge(ctx, "service", serviceId);
}

/** A cluster that does not go is said so, and tried on. */
function stuck({ status }: Replica, { problem }: Cluster): Outcome | undefined {
  if (problem === null || status !== "SHUTTING_DOWN") return undefined;
  return { to: "FAILED_CLEANUP", reason: problem.message };
}
