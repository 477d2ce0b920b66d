import { agentOperations as api } from "../../../contract/agent-api.ts";
import { jobMachine } from "../../../contract/statuses.ts";
import { findManagedJob, lossOf, noticeOf } from "../../clusters/managed.ts";
import type { Cluster } from "../../clusters/schema.ts";
import { findCluster } from "../../clusters/store.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { submissionIn } from "../../jobs/schema.ts";
import { listHeldOn } from "../../jobs/work-store.ts";
import { lastWords, withWords } from "../replicas/last-output.ts";
import type { Outcome, Replica } from "../schema.ts";

/** What became of a worker: it is ready once its setup succeeded, for as long as its machine is there and answers. */
export async function findWorkerOutcome(
  ctx: Context,
  replica: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const cluster = await findCluster(ctx.db, replica.clusterId ?? "");
  if (cluster === undefined) return { to: "PREEMPTED", reason: "its cluster is gone" };
  const loss = (await lossOf(ctx, cluster, signal)) ?? (await noticeOf(ctx, cluster));
  if (loss !== undefined) return { to: "PREEMPTED", reason: loss };
  const submitted = { submissionId: replica.id, jobId: replica.jobId };
  const job = await findManagedJob(ctx, cluster, submitted, signal);
  if (job === "unknown") return { to: "PREEMPTED", reason: "its machine was replaced" };
  if (job === undefined) return silent(replica);
  if (job.status === "SUCCEEDED") return readyAgain(ctx, cluster, replica, signal);
  if (!jobMachine.isFinal(job.status)) return undefined;
  const words = await lastWords(ctx, cluster, replica, signal);
  return { to: "FAILED", reason: withWords(job.reason ?? job.status, words) };
}

/** It gets no job while it does not answer; those that it has go on. */
const silent = ({ status }: Replica): Outcome | undefined =>
  status === "READY" ? { to: "NOT_READY", reason: "its machine does not respond" } : undefined;

async function readyAgain(
  ctx: Context,
  cluster: Cluster,
  { status }: Replica,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  await cancelStrays(ctx, cluster, signal);
  if (status === "STARTING") return { to: "READY", reason: "its setup is done" };
  return status === "NOT_READY" ? { to: "READY", reason: "its machine responds again" } : undefined;
}

/** Jobs that nobody waits for, as control was killed before it wrote down that it had submitted them. */
async function cancelStrays(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const head = ctx.agent(cluster, 0);
  const active = await head.call(api.listJobs, { active: "true" }, { signal });
  const known = new Set((await listHeldOn(ctx.db, cluster.id)).map(submissionIn));
  for (const { id, submissionId } of active)
    if (!known.has(submissionId)) await head.call(api.cancelJob, { id }, { signal });
}

/** Whether a worker that is to go has nothing left to finish; what is cancelled is not waited for. */
export async function hasNoWork(
  ctx: Ground,
  { id: clusterId }: Replica,
  isLate: boolean,
): Promise<boolean> {
  const left = await listHeldOn(ctx.db, clusterId);
  return left.length === 0 || (isLate && left.every(({ wanted }) => wanted === "CANCELLED"));
}
