import { AppError } from "../../common/errors.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findManagedJob, occupySubmission, wantGone } from "../clusters/managed.ts";
import type { Cluster } from "../clusters/schema.ts";
import type { Context } from "../context.ts";
import { patienceMs, silentMs } from "./log-reads.ts";
import { tellWait } from "./move.ts";
import { type JobTask, submissionOf } from "./schema.ts";

/** A wait for the cluster is told only where the status of the task has not changed for this long. */
const longMs = 10_000;

/**
 * Deletes the cluster of an attempt that is over, after copying as much of its log as can be reached. Returns
 * true when nothing of the cluster is left; on a worker, when nothing of the attempt is.
 */
export async function leave(
  ctx: Context,
  task: JobTask,
  cluster: Cluster | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  if (cluster === undefined || cluster.status === "GONE") {
    await ctx.jobLogs.drop(task);
    return true;
  }
  if (task.poolId !== null) return leaveWorker(ctx, task, cluster, signal);
  if (cluster.wanted !== "GONE") {
    if (task.clusterJob !== null) await fetchLog(ctx, task, cluster, signal);
    const because = task.wanted === "CANCELLED" ? task.wantedBecause : task.reason;
    await wantGone(ctx, cluster.id, because);
  } else if (cluster.problem !== null)
    await tellWait(ctx, task, `waits until its cluster is deleted: ${cluster.problem.message}`);
  else if (ctx.now().getTime() - task.statusChangedAt >= longMs)
    await tellWait(ctx, task, "waits until its cluster is deleted");
  return false;
}

/** A worker that does not answer may still run the attempt: it is waited for, or for its end. */
async function leaveWorker(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<boolean> {
  const head = ctx.agent(cluster, 0);
  const options = { signal, timeoutMs: patienceMs };
  try {
    const job = await findOnWorker(ctx, task, cluster, options);
    const isLive = job !== undefined && !jobMachine.isFinal(job.status);
    const ended = isLive ? await head.call(api.cancelJob, { id: job.id }, options) : job;
    // Ranks on other nodes may take longer.
    if (ended !== undefined && !jobMachine.isFinal(ended.status)) {
      await tellWait(ctx, task, `waits until worker ${cluster.name} has ended all ranks of it`);
      return false;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    await tellWait(ctx, task, `waits until ${endOfWait(error, cluster)}, or is gone`);
    return false;
  }
  if (task.clusterJob !== null) await fetchLog(ctx, task, cluster, signal);
  await ctx.jobLogs.drop(task);
  return true;
}

const endOfWait = ({ type, message }: AppError, { name }: Cluster): string =>
  type === "UnreachableError" || type === "TimeoutError"
    ? `worker ${name} answers`
    : `worker ${name} ends what is left of it (${message})`;

/** What a worker has of an attempt; the answer to its submission may have been lost, or it may still be on its way. */
async function findOnWorker(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Job | undefined> {
  const submissionId = submissionOf(task);
  const { user, name: jobName } = task.job;
  // One that has succeeded without a job had nothing to run.
  if (task.clusterJob === null && task.status !== "SUCCEEDED")
    return occupySubmission(ctx, cluster, { submissionId, user, name: jobName }, options);
  const active = await ctx.agent(cluster, 0).call(api.listJobs, { active: "true" }, options);
  return active.find((job) => job.submissionId === submissionId);
}

/** A node that does not answer, or sends nothing any more, does not hold its own removal up. */
async function fetchLog(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<void> {
  const { clusterJob: jobId } = task;
  const submissionId = submissionOf(task);
  try {
    // A task has succeeded once its node had said that its job has.
    let isOver = task.status === "SUCCEEDED";
    if (!isOver) {
      const job = await findManagedJob(ctx, cluster, { submissionId, jobId }, signal);
      if (job === undefined || job === "unknown") return;
      isOver = jobMachine.isFinal(job.status);
      if (!isOver)
        await ctx
          .agent(cluster, 0)
          .call(api.cancelJob, { id: job.id }, { signal, timeoutMs: patienceMs });
    }
    await ctx.jobLogs.whole(task, { silentMs, isOver }, signal);
  } catch (err) {
    signal.throwIfAborted();
    ctx.log.warn({ err, taskId: task.id }, "the end of the log of a managed job is lost");
  }
}
