import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { agentOperations as agentApi } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { jobMachine } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { sizeOf } from "../growing-file.ts";
import { jobRecord } from "../wire/job-record.ts";
import { getLive, getUp } from "./find.ts";
import { headOf } from "./head.ts";
import { applyAutostop } from "./lifecycle.ts";
import { provisionLogOf } from "./provision-log.ts";
import { type Cluster, clusterKey, isChanging } from "./schema.ts";
import { setAutostop, setCommand } from "./store.ts";
import { submitJob } from "./submit.ts";
import { readTask, withoutSecrets } from "./task.ts";
import { toHandle } from "./view.ts";
import { untilReached } from "./wait.ts";

const cancelTimeoutMs = 60_000;

/** Runs a task on a cluster that is up, or on its way there. Setup is left out. */
export async function exec(ctx: Context, input: InputOf<typeof rows.exec>, call: Call) {
  const task = readTask(input.task, "exec");
  const cluster = await upSoon(ctx, input.cluster_name, call);
  if (input.dryrun) return { job_id: null, handle: toHandle(cluster) };
  const command = withoutSecrets(call.command, task) || cluster.command;
  await ctx.batch((tx) => setCommand(tx, cluster.id, command));
  const job = await submitJob(ctx, cluster, task, { withSetup: false }, call);
  if (input.down) await downWhenIdle(ctx, cluster, call);
  return { job_id: job?.id ?? null, handle: toHandle(cluster) };
}

/** The cluster once it is up, and to stay so; waits for a launch or start that is under way. */
async function upSoon(ctx: Context, name: string, call: Call): Promise<Cluster> {
  const cluster = await getLive(ctx, name);
  const { status, wanted, wantedBecause } = cluster;
  if (status === "UP" && wanted !== "UP")
    fail("ClusterNotUpError", `cluster ${name} does not stay up (${wantedBecause})`, { status });
  if (wanted !== "UP" || !isChanging(cluster) || cluster.problem !== null) return getUp(ctx, name);
  await call.note(`waits until cluster ${name} is UP`);
  const printed = await sizeOf(provisionLogOf(ctx, cluster.id));
  return untilReached(ctx, cluster.id, "UP", call, { printed });
}

async function downWhenIdle(ctx: Context, cluster: Cluster, call: Call): Promise<void> {
  const autostop = { idleMinutes: 0, down: true, waitFor: "jobs" } as const;
  await ctx.batch((tx) => setAutostop(tx, cluster.id, autostop));
  await applyAutostop(ctx, { ...cluster, autostop }, call.signal);
}

/** Jobs of a cluster, newest first. */
export async function queue(ctx: Context, input: InputOf<typeof rows.queue>, call: Call) {
  const cluster = await getUp(ctx, input.cluster_name);
  const jobs = await headOf(ctx, cluster).call(
    agentApi.listJobs,
    {
      active: input.skip_finished ? "true" : "false",
      ...(!input.all_users && { user: call.user.id }),
    },
    { signal: call.signal },
  );
  return jobs.map(toRecord);
}

const toRecord = (job: Job) =>
  jobRecord({
    ...job,
    submittedAt: new Date(job.submittedAt),
    startedAt: job.startedAt === null ? null : new Date(job.startedAt),
    endedAt: job.endedAt === null ? null : new Date(job.endedAt),
    resourcesText: job.resources,
  });

/** Statuses by job id; null for an id that the cluster does not know. */
export async function jobStatus(ctx: Context, input: InputOf<typeof rows.jobStatus>, call: Call) {
  const cluster = await getUp(ctx, input.cluster_name);
  const ids = input.job_ids ?? [await latestJobId(ctx, cluster, call.signal)];
  const found = await Promise.all(ids.map((id) => findJob(ctx, cluster, id, call.signal)));
  return Object.fromEntries(ids.map((id, index) => [String(id), found[index]?.status ?? null]));
}

/** Ends jobs; once this resolves no process of theirs is left. */
export async function cancel(ctx: Context, input: InputOf<typeof rows.cancel>, call: Call) {
  const { job_ids: ids, all, all_users: allUsers } = input;
  if (ids !== null && (all || allUsers))
    fail("ValueError", "name jobs, or say all or all_users; not both");
  const cluster = input.try_cancel_if_cluster_is_init
    ? await getLive(ctx, input.cluster_name)
    : await getUp(ctx, input.cluster_name);
  const chosen = ids ?? (await choose(ctx, cluster, all || allUsers, allUsers, call));
  const options = { signal: call.signal, timeoutMs: cancelTimeoutMs };
  const head = headOf(ctx, cluster);
  for (const id of chosen) await head.call(agentApi.getJob, { id }, options);
  const ended = await Promise.all(
    chosen.map(async (id) => {
      const job = await head.call(agentApi.cancelJob, { id }, options);
      return hasEnded(job) ? job : untilEnded(ctx, cluster, id, call.signal);
    }),
  );
  for (const { id, status } of ended) call.print(`Job ${id} is ${status}\n`);
  if (ended.length === 0) call.print("No job to cancel\n");
  return null;
}

/** The job once its ranks on other nodes ended too; throws `TimeoutError` when they do not. */
async function untilEnded(ctx: Context, cluster: Cluster, id: number, signal: AbortSignal) {
  const message = `job ${id} is not gone from every node of ${cluster.name} yet; cancel it again`;
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
  const own = allUsers ? {} : { user: call.user.id };
  const jobs = await headOf(ctx, cluster).call(
    agentApi.listJobs,
    { active: "true", ...own },
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
