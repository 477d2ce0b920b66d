import { AppError } from "../../common/errors.ts";
import {
  delayOf,
  hopeless,
  lossOf,
  noticeOf,
  policyRefusal,
  submitManaged,
  wantGone,
  whyRefused,
} from "../clusters/managed.ts";
import type { Cluster } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { addClusterFor, clusterNameOf, freeNameOf, newClusterId } from "./clusters.ts";
import { type OpenTask, openTask } from "./document.ts";
import { leave } from "./leave.ts";
import { tellWait } from "./move.ts";
import { print } from "./narration.ts";
import { isGroupUp } from "./order.ts";
import { leaseOf } from "./outcome.ts";
import { endLaunch, takePlaces } from "./places.ts";
import { queueUp, tellPool } from "./pool.ts";
import { pauseAfter } from "./recovery.ts";
import { hasLease, type JobTask, type Result, submissionOf, type TaskChange } from "./schema.ts";
import { setTask } from "./store.ts";
import { variablesOf } from "./variables.ts";

/**
 * Starts the next attempt: the cluster of the one before is gone, another one is made, the task is handed
 * in there. Undefined while that takes its time.
 */
export async function bringUp(ctx: Context, task: JobTask, signal: AbortSignal): Promise<Result> {
  const { clusterId } = task;
  const cluster = clusterId === null ? undefined : await findCluster(ctx.db, clusterId);
  if (await isOver(ctx, task, cluster)) return endAttempt(ctx, task, cluster, signal);
  if (cluster === undefined) return begin(ctx, task, signal);
  if (task.status === "PENDING") return { to: "STARTING", reason: beginningOf(task, cluster) };
  if (cluster.status !== "UP") return awaitCluster(ctx, task, cluster, signal);
  if (!(await isGroupUp(ctx, task))) return endLaunch(ctx, task);
  return withTask(ctx, task, (open) =>
    submit(ctx, task, cluster, open, signal).catch(async (error: unknown) => {
      await endLaunch(ctx, task);
      const tell = (reason: string) => tellWait(ctx, task, reason);
      return { to: "FAILED_PRECHECKS" as const, reason: await whyRefused(error, signal, tell) };
    }),
  );
}

async function withTask(
  ctx: Ground,
  task: JobTask,
  act: (open: OpenTask) => Promise<Result>,
): Promise<Result> {
  const open = await openTask(ctx, task);
  if (typeof open !== "string") return act(open);
  return { to: "FAILED_CONTROLLER", reason: `this version cannot read its task: ${open}` };
}

/** Whether an attempt has ended, or its cluster is on its way out before it took the task. */
async function isOver(
  ctx: Ground,
  { clusterJob, poolId, clusterId }: JobTask,
  cluster: Cluster | undefined,
): Promise<boolean> {
  if (clusterJob !== null) return true;
  const isOnWorker = poolId !== null && clusterId !== null;
  if (cluster === undefined) return isOnWorker;
  if (cluster.wanted !== "UP") return true;
  return isOnWorker && (await noticeOf(ctx, cluster)) !== undefined;
}

const beginningOf = ({ poolId }: JobTask, { name }: Cluster): string =>
  poolId === null ? `cluster ${name} is being created` : `worker ${name} takes it`;

async function endAttempt(
  ctx: Context,
  task: JobTask,
  cluster: Cluster | undefined,
  signal: AbortSignal,
): Promise<Result> {
  if (!(await leave(ctx, task, cluster, signal))) return undefined;
  await ctx.batch((tx) => setTask(tx, task.id, { clusterId: null, clusterJob: null }));
  tellPool(ctx, task);
  return "again";
}

/** Whether it is too early to try again what has just failed; says until when. */
async function isPausing(ctx: Ground, task: JobTask): Promise<boolean> {
  const { status, failures, statusChangedAt } = task;
  const pauseMs = status === "RECOVERING" ? pauseAfter(failures) : 0;
  const passed = ctx.now().getTime() - statusChangedAt;
  // Time before that means that the clock was set back.
  if (passed < 0 || passed >= pauseMs) return false;
  const until = new Date(statusChangedAt + pauseMs).toISOString();
  await tellWait(ctx, task, `waits until ${until}, as it failed ${failures} times in a row`);
  return true;
}

/** Begins an attempt, which is written down before anything of it is made, once it is the task's turn. */
async function begin(ctx: Context, task: JobTask, signal: AbortSignal): Promise<Result> {
  if (await isPausing(ctx, task)) return;
  if (task.poolId !== null) return queueUp(ctx, task);
  const now = ctx.now().getTime();
  const attempt = { ...attemptOf(task), begunAt: task.begunAt ?? now, launchingAt: now };
  if (!(await takePlaces(ctx, task, attempt))) return;
  const begun = { ...task, ...attempt };
  return withTask(ctx, begun, (open) => makeCluster(ctx, begun, attempt, open, signal));
}

/** The attempt that is written down already, or the next one; its cluster may be on its way. */
function attemptOf(task: JobTask) {
  const { attempt, clusterId, clusterName, nextClusterId } = task;
  if (clusterId !== null) return { attempt, clusterId, clusterName };
  const next = { attempt: attempt + 1, nextClusterId: null };
  if (nextClusterId === null)
    return { ...next, clusterId: newClusterId(), clusterName: clusterNameOf(task) };
  return { ...next, clusterId: nextClusterId, clusterName: freeNameOf(task, nextClusterId) };
}

async function makeCluster(
  ctx: Context,
  task: JobTask & { clusterId: string },
  change: TaskChange,
  open: OpenTask,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const cluster = await addClusterFor(ctx, task, task, open, signal);
    const reason = beginningOf(task, cluster);
    if (task.status === "PENDING") return { to: "STARTING", reason, change, isWoken: true };
  } catch (error) {
    await endLaunch(ctx, task);
    return unmade(ctx, task, error);
  }
  await tellWait(ctx, task, null);
  return "again";
}

/** What becomes of a task that gets no cluster now. */
async function unmade(
  ctx: Context,
  task: JobTask & { clusterId: string },
  error: unknown,
): Promise<Result> {
  if (!(error instanceof AppError)) throw error;
  const { type, message } = error;
  if (type === "ConflictError") return rename(ctx, task);
  if (type === "ResourcesUnavailableError")
    await tellWait(ctx, task, `waits until there is a machine for it: ${message}`);
  else if (type === policyRefusal)
    await tellWait(ctx, task, `waits until its workspace allows it: ${message}`);
  else if (hopeless.includes(type)) return { to: "FAILED_PRECHECKS", reason: message };
  else throw error;
}

/** Somebody has a cluster of that name. */
async function rename(ctx: Context, task: JobTask & { clusterId: string }): Promise<Result> {
  const clusterName = freeNameOf(task, task.clusterId);
  await ctx.batch((tx) => setTask(tx, task.id, { clusterName }));
  return "again";
}

async function awaitCluster(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Result> {
  const { problem, everUp } = cluster;
  if (problem !== null && task.poolId === null && hopeless.includes(problem.type))
    return { to: "FAILED_PRECHECKS", reason: problem.message };
  const delay = await delayOf(ctx, cluster);
  await tellWait(ctx, task, delay === undefined ? null : `waits for its cluster: ${delay}`);
  if (delay !== undefined) await endLaunch(ctx, task);
  // What becomes of a worker is up to its pool.
  if (!everUp || task.poolId !== null) return;
  // The answer to its submission may have been lost: it may run.
  const loss = leaseOf(ctx, task, cluster).loss ?? (await lossOf(ctx, cluster, signal));
  if (loss === undefined) return;
  await wantGone(ctx, cluster.id, loss);
  return "again";
}

async function submit(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  { task: given, blobId }: OpenTask,
  signal: AbortSignal,
): Promise<Result> {
  if (hasLease(task) && !(await ctx.jobLeases.begin(task, cluster, signal))) {
    await wantGone(ctx, cluster.id, "its lease has run out before it could be handed in");
    return "again";
  }
  const job = await submitManaged(
    ctx,
    cluster,
    given,
    {
      ...{ submissionId: submissionOf(task), user: task.job.user },
      env: await variablesOf(ctx, task),
      sidecar: null,
      blobId,
      print: (text) => print(ctx, task.id, text),
    },
    signal,
  );
  const change = { clusterJob: job?.id ?? null, infra: cluster.offer.infra };
  if (job === undefined) return { to: "SUCCEEDED", reason: "it has nothing to run", change };
  return { to: "RUNNING", reason: `attempt ${task.attempt} is on cluster ${cluster.name}`, change };
}
