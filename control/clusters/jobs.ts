import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { agentOperations as agentApi } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { listedBy } from "../../contract/spelling.ts";
import { jobExitCodes, jobMachine } from "../../contract/statuses.ts";
import { ownerShown } from "../access/identity.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { mapInBatches } from "../map-in-batches.ts";
import { getLive, getReadable, getUp, refuseManaged } from "./find.ts";
import { headOf } from "./head.ts";
import { findLastQueue } from "./queue-snapshot.ts";
import { type Cluster, clusterKey } from "./schema.ts";
import { toJobRecord } from "./view.ts";

const cancelTimeoutMs = 60_000;

type QueueInput = InputOf<typeof rows.queue>;

/** Jobs of a cluster, newest first; those that were last heard of, while its head is away or off. */
export async function queue(ctx: Context, input: QueueInput, call: Call) {
  const user = ownerShown(call, input.all_users);
  const filter = { active: input.skip_finished ? "true" : "false", user };
  try {
    const cluster = await getReadable(ctx, input.cluster_name);
    const jobs = await headOf(ctx, cluster).call(agentApi.listJobs, filter, {
      signal: call.signal,
    });
    return jobs.map((job) => toJobRecord(job));
  } catch (error) {
    const last = isAway(error) ? await lastOf(ctx, input) : undefined;
    if (last === undefined) throw error;
    const asOf = new Date(last.at).toISOString();
    const why = isOff(error) ? "is STOPPED" : "does not answer";
    call.print(`cluster ${input.cluster_name} ${why}; these are its jobs as of ${asOf}\n`);
    return last.jobs
      .filter((job) => user === undefined || job.userId === user || job.userName === user)
      .filter((job) => !input.skip_finished || !hasEnded(job))
      .map((job) => toJobRecord(job, asOf));
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.type === "UnreachableError" || error.details["status"] === "INIT" || isOff(error));

const isOff = (error: unknown): boolean =>
  error instanceof AppError && error.details["status"] === "STOPPED";

const lastOf = async (ctx: Ground, { cluster_name: name }: Pick<QueueInput, "cluster_name">) =>
  findLastQueue(ctx, await getLive(ctx, name));

/** A queue with more jobs than that is not listed whole where it is only glanced at. */
const glanceAtMost = 100;
const glanceMs = 2_000;

/** What queued jobs of a cluster wait for, the next one first; nothing where its head does not answer. */
export async function listWaits(
  ctx: Context,
  cluster: Cluster,
  atMost: number,
  signal: AbortSignal,
) {
  const options = { signal, timeoutMs: glanceMs };
  const filter = { active: "true", limit: glanceAtMost } as const;
  const jobs = await ctx
    .agent(cluster, 0)
    .call(agentApi.listJobs, filter, options)
    .catch((): Job[] => {
      signal.throwIfAborted();
      return [];
    });
  return jobs
    .filter(({ status, reason }) => status === "PENDING" && reason !== null)
    .toReversed()
    .slice(0, atMost)
    .map(({ id, reason }) => `job ${id} ${reason}`);
}

/** Statuses by job id, as they were when a cluster went off; null for an id that the cluster does not know. */
export async function jobStatus(ctx: Context, input: InputOf<typeof rows.jobStatus>, call: Call) {
  try {
    return await statusesOf(ctx, input, call);
  } catch (error) {
    const last = isOff(error) ? await lastOf(ctx, input) : undefined;
    if (last === undefined) throw error;
    const ids = input.job_ids ?? last.jobs.slice(0, 1).map(({ id }) => id);
    const statusOf = (id: number) => last.jobs.find((job) => job.id === id)?.status ?? null;
    return Object.fromEntries(ids.map((id) => [String(id), statusOf(id)]));
  }
}

async function statusesOf(ctx: Context, input: InputOf<typeof rows.jobStatus>, call: Call) {
  const cluster = await getReadable(ctx, input.cluster_name);
  const ids = input.job_ids ?? [await latestJobId(ctx, cluster, call.signal)];
  const found = await mapInBatches(ids, (id) => findJob(ctx, cluster, id, call.signal));
  return Object.fromEntries(ids.map((id, index) => [String(id), found[index]?.status ?? null]));
}

/** Ends jobs; once this resolves no process of theirs is left. */
export async function cancel(ctx: Context, input: InputOf<typeof rows.cancel>, call: Call) {
  const { job_ids: ids, all, all_users: allUsers } = input;
  if (ids !== null && (all || allUsers))
    fail("ValueError", "name jobs, or set all or all_users, not both");
  const cluster = input.try_cancel_if_cluster_is_init
    ? await getLive(ctx, input.cluster_name)
    : await getUp(ctx, input.cluster_name);
  refuseManaged(cluster);
  const chosen = ids ?? (await choose(ctx, cluster, all || allUsers, allUsers, call));
  const options = { signal: call.signal, timeoutMs: cancelTimeoutMs };
  const head = headOf(ctx, cluster);
  for (const id of chosen) await getJob(ctx, cluster, id, call.signal);
  const ended = await mapInBatches(chosen, async (id) => {
    const job = await head.call(agentApi.cancelJob, { id }, options);
    return hasEnded(job) ? job : untilEnded(ctx, cluster, id, call.signal);
  });
  for (const { id, status } of ended) call.print(`Job ${id} is ${status}\n`);
  if (ended.length === 0) call.print("No job to cancel\n");
  return null;
}

/** The job once its ranks on other nodes ended too; throws `TimeoutError` when they do not. */
async function untilEnded(ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) {
  const message = `job ${id} has not ended on every node of ${cluster.name} yet; cancel it again`;
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new AppError("TimeoutError", message)),
    cancelTimeoutMs,
  );
  const look = async () => {
    const job = await findJob(ctx, cluster, id, signal);
    return job !== undefined && hasEnded(job) ? job : undefined;
  };
  return ctx.changes
    .until(clusterKey(cluster.id), look, AbortSignal.any([signal, limit.signal]))
    .finally(() => clearTimeout(timer));
}

/** The active jobs of the caller or everyone; without `all` only the latest. */
async function choose(
  ctx: Context,
  cluster: Cluster,
  all: boolean,
  allUsers: boolean,
  call: Call,
): Promise<number[]> {
  const user = ownerShown(call, allUsers);
  const jobs = await headOf(ctx, cluster).call(
    agentApi.listJobs,
    { active: "true", ...(user !== undefined && { user }) },
    { signal: call.signal },
  );
  const ids = jobs.map(({ id }) => id);
  return all ? ids : ids.slice(0, 1);
}

/** The job with this id, or undefined. */
export async function findJob(ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) {
  if (id < 1) return undefined;
  return headOf(ctx, cluster)
    .call(agentApi.getJob, { id }, { signal })
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === "JobNotFoundError") return undefined;
      throw error;
    });
}

/** The job with this id; throws `JobNotFoundError`. */
export const getJob = async (ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) =>
  (await findJob(ctx, cluster, id, signal)) ??
  fail("JobNotFoundError", `cluster ${cluster.name} has no job ${id}; ${listedBy("queue")}`);

/** The id of the job that was submitted last; throws `JobNotFoundError` when there is none. */
export async function latestJobId(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<number> {
  const head = headOf(ctx, cluster);
  const [job] = await head.call(agentApi.listJobs, { limit: 1 }, { signal });
  return job?.id ?? fail("JobNotFoundError", `cluster ${cluster.name} has no job yet`);
}

/** Whether nothing more happens to a job. */
export const hasEnded = ({ status }: Job): boolean => jobMachine.isFinal(status);

/** What a job means for the exit code of calls that follow its log. */
export function exitCodeOf(job: Job | undefined): number {
  if (job === undefined) return jobExitCodes.NOT_FOUND;
  if (job.status === "SUCCEEDED") return jobExitCodes.SUCCEEDED;
  if (job.status === "CANCELLED") return jobExitCodes.CANCELLED;
  return jobMachine.isFinal(job.status) ? jobExitCodes.FAILED : jobExitCodes.NOT_FINISHED;
}
