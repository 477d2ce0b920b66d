import { AppError } from "../../../common/errors.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { lossOf, wantGone } from "../../clusters/managed.ts";
import type { Cluster } from "../../clusters/schema.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { nudge } from "../../reconciler.ts";
import { hasFailed } from "../decisions/back-off.ts";
import { hasNoWork } from "../pools/worker.ts";
import { drainMs, type Outcome, type Replica } from "../schema.ts";
import { getService } from "../store.ts";
import { hasHadItsTime, isDrained } from "./drained.ts";
import { noteLastWords } from "./last-output.ts";
import { keepLog } from "./log.ts";
import { findJob, isReady } from "./outcome.ts";
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
  const { endedAt, status, wantedBecause, serviceId } = replica;
  const isLeaving = endedAt === null && status !== "SHUTTING_DOWN" && status !== "FAILED_CLEANUP";
  if (isLeaving) return { to: "SHUTTING_DOWN", reason: wantedBecause };
  // Sent away while its cluster was made, it does not know it yet; the cluster has its id.
  const cluster = await findCluster(ctx.db, replica.clusterId ?? replica.id);
  const { isPool } = await getService(ctx.db, serviceId);
  const mayLeave = isPool
    ? await hasNoWork(ctx, replica, isLate(ctx, replica))
    : await mayGo(ctx, replica);
  const looksLost = isPool ? isTaken : isLost;
  if (!mayLeave && !(await looksLost(ctx, replica, cluster, signal))) return undefined;
  await close(ctx, replica);
  if (cluster === undefined || cluster.status === "GONE") return forget(ctx, replica);
  if (cluster.wanted === "GONE") return stuck(replica, cluster);
  if (hasFailed(replica)) await noteLastWords(ctx, cluster, replica, signal);
  await keepLog(ctx, cluster, replica, signal);
  if (isPool) await ctx.jobLogs.rest(cluster.id, ctx.agent(cluster, 0), signal);
  await wantGone(ctx, cluster.id, replica.endedAt === null ? wantedBecause : replica.reason);
}

/** Whether nothing is under way there any more, or has had its time, which begins once it serves no more. */
async function mayGo(ctx: Context, replica: Replica): Promise<boolean> {
  const { id, serviceId, number, host, drainUntil, wanted } = replica;
  const { told, seen } = ctx.balancers;
  if (host === null || drainUntil === null) return true;
  const planned = told(serviceId)?.replicas.find((one) => one.id === number);
  if (wanted === "UP" && planned?.role === "serving" && isReady(ctx, replica)) {
    const change = { drainUntil: ctx.now().getTime() + drainMs };
    await ctx.batch((tx) => setReplica(tx, id, change));
    return false;
  }
  return isLate(ctx, replica) || isDrained(number, told(serviceId), seen(serviceId));
}

/** Whether what was under way has had its time. */
const isLate = (
  { balancers, now }: Context,
  { drainUntil }: Pick<Replica, "drainUntil">,
): boolean => drainUntil === null || hasHadItsTime(drainUntil, now().getTime(), balancers.backAt());

/** Whether nothing there will finish: its machine is lost, or neither its probe nor its agent is answered. */
async function isLost(
  ctx: Context,
  replica: Replica,
  cluster: Cluster | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const hasFailedProbe = replica.endedAt !== null && cluster !== undefined;
  return hasFailedProbe ? isSilent(ctx, cluster, signal) : isTaken(ctx, replica, cluster, signal);
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
  replica: Replica,
  cluster: Cluster | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (cluster === undefined) return true;
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
