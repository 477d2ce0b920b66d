import { AppError } from "../../common/errors.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import { isLoss } from "../../contract/job-loss.ts";
import { describeLease } from "../../contract/lease.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findManagedJob, lossOf, noticeAtNodes } from "../clusters/managed.ts";
import type { Cluster } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { makeAhead } from "./ahead.ts";
import { openTask } from "./document.ts";
import { tellWait } from "./move.ts";
import { endingOf } from "./order.ts";
import { afterFailure, afterLoss, type Recovery, usualRecovery } from "./recovery.ts";
import { hasLease, type JobTask, type Outcome, submissionOf } from "./schema.ts";

/**
 * What became of a task that runs: undefined while it does, and while nobody can say, as a machine that is
 * silent is not lost. Then it waits, and says for what.
 */
export async function findOutcome(
  ctx: Context,
  task: JobTask,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const lost = async (why: string) => afterLoss(why, await recoveryOf(ctx, task));
  const cluster = await findCluster(ctx.db, task.clusterId ?? "");
  if (cluster === undefined) return lost("its cluster is gone");
  const lease = leaseOf(ctx, task, cluster);
  const answer = `waits until ${cluster.provider} says whether its machine is there${lease.wayOut}`;
  const loss = await orWait(ctx, task, answer, () => lossOf(ctx, cluster, signal)).catch(
    (error: unknown) => {
      if (error instanceof AppError && lease.loss !== undefined) return lease.loss;
      throw error;
    },
  );
  if (loss !== undefined) return lost(loss);
  const submitted = { submissionId: submissionOf(task), jobId: task.clusterJob };
  const job = await findManagedJob(ctx, cluster, submitted, signal);
  if (job === "unknown") return lost("its machine was replaced");
  // All of the log of one that has succeeded is fetched next.
  if (job !== undefined && job.status !== "SUCCEEDED") ctx.jobLogs.keep(task);
  if (job !== undefined && jobMachine.isFinal(job.status))
    return ended(ctx, task, cluster, job, signal);
  if (lease.loss !== undefined) return lost(lease.loss);
  const ahead = await makeAhead(ctx, task, cluster, signal);
  const isSilent = job === undefined || lease.wayOut !== "";
  const waitsFor = isSilent ? silent(cluster) + lease.wayOut : ahead;
  await tellWait(ctx, task, waitsFor ?? (await endingOf(ctx, task)));
}

const silent = ({ provider }: Cluster): string =>
  `its machine does not respond; waits until it does, or until ${provider} says that it is gone`;

/** What a lease says of a machine that does not answer: how the attempt was lost, or until when it may live. */
export function leaseOf(ctx: Context, task: JobTask, cluster: Cluster): Lease {
  if (!hasLease(task)) return { loss: undefined, wayOut: "" };
  const { until, isOver } = ctx.jobLeases.keep(task, cluster);
  const its = `its lease of ${describeLease(task.leaseMs)} has run out`;
  const loss = isOver ? `its machine does not respond, and ${its}` : undefined;
  const at = until === null ? "" : new Date(until).toISOString();
  return { loss, wayOut: until === null ? "" : `, or until ${at}, when ${its}` };
}

interface Lease {
  readonly loss: string | undefined;
  /** What else would end the wait. */
  readonly wayOut: string;
}

/** A task that cannot be read any more is recovered as usual, and that fails then. */
async function recoveryOf(ctx: Context, task: JobTask): Promise<Recovery> {
  const open = await openTask(ctx, task);
  return (typeof open === "string" ? undefined : open.task.resources.jobRecovery) ?? usualRecovery;
}

/** Says what is waited for where the answer is an error, and throws that: it is asked again. */
async function orWait<T>(
  ctx: Context,
  task: JobTask,
  waitsFor: string,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof AppError) await tellWait(ctx, task, `${waitsFor}: ${error.message}`);
    throw error;
  }
}

async function ended(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  job: Job,
  signal: AbortSignal,
): Promise<Outcome> {
  const { status, reason } = job;
  if (status === "SUCCEEDED") return { to: "SUCCEEDED", reason: "its run exited with 0" };
  const recovery = await recoveryOf(ctx, task);
  if (status === "FAILED_DRIVER" && isLoss(reason)) return afterLoss(`${reason}`, recovery);
  const how = reason ?? status;
  const notice = await orWait(
    ctx,
    task,
    `${how}; waits until its machines say whether one is being preempted`,
    () => noticeAtNodes(ctx, cluster, signal),
  );
  if (notice !== undefined) return afterLoss(notice, recovery);
  // Control does not cancel the job of an attempt that it wants, so the machine or its provider did.
  if (status === "CANCELLED")
    return afterLoss(`its attempt was ended from outside: ${how}`, recovery);
  return afterFailure(task, job, recovery, ctx.now().getTime());
}
