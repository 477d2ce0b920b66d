import { fail } from "../common/errors.ts";
import type { InputOf } from "../common/operation.ts";
import { explainOperations as rows } from "../contract/operations/explain.ts";
import type { Explanation } from "../contract/records/explanation.ts";
import { seesWorkspace } from "./access/identity.ts";
import { type Attempt, findAttempt } from "./attempts.ts";
import { type Bound, bind, type Call } from "./bind.ts";
import { openHookHints } from "./clusters/hooks/hint.ts";
import { listWaits } from "./clusters/jobs.ts";
import { pendingOf } from "./clusters/managed.ts";
import type { Cluster } from "./clusters/schema.ts";
import { findCluster, findLive } from "./clusters/store.ts";
import type { Context } from "./context.ts";
import type { Ground } from "./ground.ts";
import { findTasks } from "./jobs/find.ts";
import { calledInJob, hasEnded as hasTaskEnded, type JobTask } from "./jobs/schema.ts";
import { findRequest, resolveId } from "./requests/find.ts";
import { hasEnded, type StoredRequest } from "./requests/schema.ts";
import { listReplicas } from "./services/replicas/store.ts";
import { type Replica, type Service, wordsOf } from "./services/schema.ts";
import { findLiveService } from "./services/store.ts";
import { findSpent } from "./workspaces/use.ts";

/** So many waiting jobs are named; those behind wait for these. */
const jobsAtMost = 10;

/** Why things are as they are. */
export const explainOperations: Bound[] = [bind(rows.explain, explain)];

async function explain(
  ctx: Context,
  { name }: InputOf<typeof rows.explain>,
  call: Call,
): Promise<Explanation> {
  const isSeen = ({ workspace }: { workspace: string }) => seesWorkspace(call, workspace);
  const cluster = await findLive(ctx.db, name);
  if (cluster !== undefined && isSeen(cluster)) return explainCluster(ctx, cluster, call.signal);
  const service = await findLiveService(ctx.db, name);
  if (service !== undefined && isSeen(service)) return explainService(ctx, service);
  const number = /^\d{1,9}$/.test(name) ? Number(name) : null;
  const job = { name: number === null ? name : null, job_id: number, task: null };
  const tasks = await findTasks(ctx, job, call);
  if (tasks.length > 0) return explainJob(ctx, tasks, call.signal);
  const request = await findRequest(ctx, await resolveId(ctx, name, call).catch(() => ""));
  if (request !== undefined) return explainRequest(ctx, request, call.signal);
  return fail(
    "NotFoundError",
    `there is no live cluster or service ${name}, no managed job, and no request`,
  );
}

async function explainCluster(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Explanation> {
  const { id, name, status, wanted, wantedBecause, statusChangedAt, problem } = cluster;
  const hook = (await openHookHints(ctx)(cluster)).split("\n")[0] ?? "";
  return {
    ...{ noun: "cluster", name, id, status, wanted, because: wantedBecause },
    since: statusChangedAt / 1_000,
    doing: [
      hook,
      doingOf(ctx, "cluster", id),
      problem === null ? "" : `failed: ${problem.message}`,
      (status === "INIT" && (await pendingOf(ctx, cluster))) || "",
      (await findSpent(ctx, cluster.workspace)) ?? "",
      ...(status === "UP" ? await listWaits(ctx, cluster, jobsAtMost, signal) : []),
    ].filter((text) => text !== ""),
    attempt: toAttempt(await findAttempt(ctx.db, "cluster", id)),
  };
}

async function explainService(ctx: Ground, service: Service): Promise<Explanation> {
  const { id, name, status, reason, wanted, wantedBecause, statusChangedAt } = service;
  const { noun, member } = wordsOf(service);
  const replicas = (await listReplicas(ctx.db, id)).filter(isOnItsWay);
  const spent = await findSpent(ctx, service.workspace);
  return {
    ...{ noun, name, id, status, wanted, because: wantedBecause },
    since: statusChangedAt / 1_000,
    doing: [
      reason,
      ...replicas.map((one) => describeReplica(one, member)),
      ...(spent === null ? [] : [spent]),
    ],
    attempt: toAttempt(await findAttempt(ctx.db, "service", id)),
  };
}

const isOnItsWay = ({ status }: Replica): boolean => status !== "READY" && status !== "GONE";

const describeReplica = ({ number, status, reason }: Replica, member: string): string =>
  `${member} ${number} is ${status}: ${reason}`;

/** The first of its tasks that has not ended, or else decided how the job ended, and what the others do. */
async function explainJob(
  ctx: Context,
  tasks: readonly JobTask[],
  signal: AbortSignal,
): Promise<Explanation> {
  const decides = ({ isPrimary, status }: JobTask) => isPrimary && status !== "SUCCEEDED";
  const open = tasks.find((task) => !hasTaskEnded(task));
  const of = (open ?? tasks.find(decides) ?? tasks[0]) as JobTask;
  const explanation = await explainTask(ctx, of, signal);
  if (tasks.length === 1) return explanation;
  const others = tasks.filter(({ id }) => id !== of.id).slice(0, jobsAtMost);
  const [first = "", ...rest] = explanation.doing;
  const doing = [`${calledInJob(of)}: ${first}`, ...rest, ...others.map(describeTask)];
  return { ...explanation, doing };
}

const describeTask = (task: JobTask): string =>
  `${calledInJob(task)} is ${task.status}: ${task.waitsFor ?? task.reason}`;

/** A job whose cluster is on its way waits for what that waits for. */
async function explainTask(ctx: Context, task: JobTask, signal: AbortSignal): Promise<Explanation> {
  const { id, job, status, reason, waitsFor, wanted, wantedBecause, statusChangedAt } = task;
  const cluster = await findCluster(ctx.db, task.clusterId ?? "");
  const isMoving = cluster !== undefined && cluster.status !== cluster.wanted;
  const of = isMoving ? await explainCluster(ctx, cluster, signal) : undefined;
  return {
    ...{ noun: "managed_job", name: job.name, id: String(job.id), status },
    wanted: hasTaskEnded(task) ? null : wanted,
    because: wantedBecause,
    since: statusChangedAt / 1_000,
    doing: [waitsFor ?? reason, ...(of?.doing ?? []).map((text) => `cluster ${of?.name}: ${text}`)],
    attempt: toAttempt(await findAttempt(ctx.db, "managed_job", id)) ?? of?.attempt ?? null,
  };
}

async function explainRequest(
  ctx: Context,
  request: StoredRequest,
  signal: AbortSignal,
): Promise<Explanation> {
  const { id, name, status, user, clusterName, statusNote, createdAt, finishedAt } = request;
  const isOver = hasEnded(request);
  const behind = ctx.queues.behind(id);
  const cluster = clusterName === null || isOver ? undefined : await findLive(ctx.db, clusterName);
  const of = cluster && (await explainCluster(ctx, cluster, signal));
  return {
    ...{ noun: "request", name, id, status },
    wanted: isOver ? null : "SUCCEEDED",
    because: `${name} by ${user.name}`,
    since: (finishedAt ?? createdAt) / 1_000,
    doing: [
      ...(statusNote === null || isOver ? [] : [statusNote]),
      ...(behind === undefined ? [] : [`waits for its turn, behind ${behind} other requests`]),
      ...(of?.doing ?? []).map((text) => `cluster ${of?.name}: ${text}`),
    ],
    attempt: of?.attempt ?? null,
  };
}

/** What a reconciler does for a row, and for how long already. */
function doingOf(ctx: Context, noun: string, id: string): string {
  const doing = ctx.reconciling.get(noun)?.doing(id);
  if (doing === undefined) return "";
  const seconds = `for ${Math.round(doing.forMs / 1_000)} s`;
  return doing.isWaiting
    ? `waits ${seconds} for its turn, as its provider is busy: ${doing.what}`
    : `${doing.what}, ${seconds}`;
}

const toAttempt = (attempt: Attempt | undefined): Explanation["attempt"] =>
  attempt === undefined
    ? null
    : {
        failures: attempt.failures,
        reason: attempt.reason,
        failed_at: attempt.failedAt / 1_000,
        next_at: attempt.dueAt / 1_000,
      };
