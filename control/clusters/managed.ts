import { AppError, type ErrorType, fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { Job, JobSidecar } from "../../contract/agent-shapes.ts";
import { redactSecrets, type Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { listEvents } from "../events.ts";
import type { Ground } from "../ground.ts";
import { askedOfReplica } from "../needs.ts";
import { chooseOffer } from "../offers.ts";
import type { LogPiece } from "../wire/log-pieces.ts";
import { admitCluster } from "../workspaces/admit.ts";
import { checkFiles, readCargo } from "./files/cargo.ts";
import { listOpen } from "./lifecycles/store.ts";
import { openJobLog } from "./logs.ts";
import { addNewCluster, newCluster } from "./new-cluster.ts";
import { makingLane, tellsPending } from "./planning.ts";
import { findLastJobId } from "./queue-snapshot.ts";
import type { Asked, Cluster, MadeFor } from "./schema.ts";
import { findCluster } from "./store.ts";
import { submitJob } from "./submit.ts";
import { want } from "./want.ts";

/** Clusters that another noun of control makes, uses and takes down; its row is nudged by what they do. */

export interface Managed {
  readonly id: string;
  readonly name: string;
  readonly madeFor: MadeFor;
  readonly user: Cluster["user"];
  readonly workspace: string;
  readonly because: string;
  readonly task: Task;
  readonly taskYaml: string;
  /** On a spot machine, or on none; left out where the task makes no difference of it. */
  readonly isSpot?: boolean;
  readonly near?: Asked["near"];
}

/**
 * Writes a cluster that is to be up; the same id twice is the same cluster. Throws
 * `ResourcesUnavailableError` when there is no machine for it, `UserRequestRejectedByPolicy` when its
 * workspace takes no more, `ConflictError` when its name is taken.
 */
export async function addManaged(
  ctx: Context,
  { task: whole, taskYaml, because, isSpot, near, ...managed }: Managed,
  signal: AbortSignal,
): Promise<Cluster> {
  const known = await findCluster(ctx.db, managed.id);
  if (known !== undefined) return known;
  const asked = { ...askedOfReplica(whole, managed.workspace, isSpot), ...(near && { near }) };
  const task = { ...whole, resources: asked.resources };
  const offer = await chooseOffer(ctx, asked, signal);
  const cluster = newCluster(ctx, asked, offer, {
    ...managed,
    wantedBecause: because,
    taskYaml: redactSecrets(taskYaml),
    command: "",
    autostop: null,
  });
  if (!(await addNewCluster(ctx, cluster, task, (tx) => admitCluster(ctx, tx, cluster))))
    fail("ConflictError", `cluster ${cluster.name} already exists`);
  return cluster;
}

/** Wants a cluster gone, hooks and all. */
export const wantGone = (ctx: Context, clusterId: string, because: string): Promise<boolean> =>
  want(ctx, clusterId, { wanted: "GONE", because });

/** Why a cluster that was up is lost; undefined while it is not. Throws where nobody can say. */
export async function lossOf(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (cluster.wanted !== "UP") return `its cluster is being removed: ${cluster.wantedBecause}`;
  const nodes = await ctx.provider(cluster.provider).list(cluster, signal);
  const over = nodes.find((node) => node.over !== undefined)?.over;
  const gone = nodes.find((node) => node.gone !== undefined)?.gone;
  if (over ?? gone) return over ?? `its machine is gone: ${gone}`;
  return nodes.length < cluster.nodes ? "its machine is gone" : undefined;
}

/** Why a cluster that is not up waits for a machine or has failed for now; undefined where it is being made. */
export async function delayOf(ctx: Context, cluster: Cluster): Promise<string | undefined> {
  return cluster.problem?.message ?? pendingOf(ctx, cluster);
}

/** Why a cluster waits for a machine; undefined where it waits for none. */
export async function pendingOf(
  { db, reconciling }: Context,
  { id, provider }: Pick<Cluster, "id" | "provider">,
): Promise<string | undefined> {
  // Nothing is told once a machine is there, until its agent runs.
  if (reconciling.get("cluster")?.doing(id)?.lane === makingLane({ provider })) return undefined;
  const [last] = await listEvents(db, "cluster", id, { kinds: ["remarks"], limit: 1 });
  return last && tellsPending(last.reason) ? last.reason : undefined;
}

/** Why a machine of a cluster is about to be lost; undefined while it is not. */
export async function noticeOf(ctx: Ground, { id }: Cluster): Promise<string | undefined> {
  const open = await listOpen(ctx.db, id);
  const notice = open.find(({ events }) => events.includes("preemption"));
  return notice && preemptedBy(notice.because);
}

const askedMs = 5_000;

/**
 * As `noticeOf`, asked of the nodes themselves, as control may not have heard of it yet. Throws
 * `UnreachableError` where one does not answer.
 */
export async function noticeAtNodes(
  ctx: Context,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = { signal, timeoutMs: askedMs };
  const asked = [...Array(cluster.nodes).keys()].map(async (rank) => {
    const agent = ctx.agent(cluster, rank);
    const { lifecycle } = await agent.call(api.health, {}, options);
    if (!lifecycle?.events.includes("preemption")) return undefined;
    const { because } = await agent.call(api.getLifecycle, { id: lifecycle.id }, options);
    return preemptedBy(because);
  });
  return (await Promise.all(asked)).find(Boolean) ?? noticeOf(ctx, cluster);
}

const preemptedBy = (because: string): string => `its machine is being preempted: ${because}`;

/** The job that was handed in under an id. */
interface Submitted {
  readonly submissionId: string;
  readonly jobId: number | null;
}

/** Such a job; undefined while its node does not answer, `unknown` where that is another node by now. */
export async function findManagedJob(
  ctx: Context,
  cluster: Cluster,
  { submissionId, jobId }: Submitted,
  signal: AbortSignal,
): Promise<Job | "unknown" | undefined> {
  try {
    const options = { signal, timeoutMs: askedMs };
    const job = await ctx.agent(cluster, 0).call(api.getJob, { id: jobId ?? 0 }, options);
    return job.submissionId === submissionId ? job : "unknown";
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError && error.type === "JobNotFoundError") return "unknown";
    ctx.log.debug({ err: error, cluster: cluster.name }, "job of a managed cluster not seen");
  }
}

/** What a workspace answers that takes no more. */
export const policyRefusal = "UserRequestRejectedByPolicy" satisfies ErrorType;

/** Trouble that says nothing about the machine: control's own, of its way to a provider, or with a limit. */
export const passing: readonly string[] = [
  ...(["TimeoutError", "DiskFullError"] satisfies ErrorType[]),
  policyRefusal,
];

/** Tried again, these would be answered alike. */
export const hopeless: readonly string[] = [
  ...([
    "ValueError",
    "InvalidTaskError",
    "NotFoundError",
    "VolumeNotFoundError",
  ] satisfies ErrorType[]),
  ...(["TooLargeError", "NotSupportedError"] satisfies ErrorType[]),
];

/** What a job gets besides its task. */
export interface ManagedJob {
  /** The same id twice is the same job. */
  readonly submissionId: string;
  /** Whose it is, where that is not the user of the cluster. */
  readonly user?: Cluster["user"];
  readonly env: Readonly<Record<string, string>>;
  readonly sidecar: JobSidecar | null;
  readonly blobId: string | null;
  print(text: string): void;
}

/** Throws for files of a task that its client did not send. */
export const checkManagedFiles = (task: Task): void => checkFiles(task, "all");

/** Brings a task's files to a cluster that is up and hands the task in; undefined when it has no run. */
export async function submitManaged(
  ctx: Context,
  cluster: Cluster,
  task: Task,
  { submissionId, user = cluster.user, env, sidecar, blobId, print }: ManagedJob,
  signal: AbortSignal,
): Promise<Job | undefined> {
  const call = callFor(ctx, { ...cluster, user }, { id: submissionId, print, signal });
  const cargoes = await readCargo(ctx, task, { file_mounts_blob_id: blobId }, "all", call);
  const more = { withSetup: true, cargoes, env, sidecar };
  return submitJob(ctx, cluster, task, more, call);
}

/**
 * What became of a submission that was not answered. Where nothing of it has arrived, a job that runs nothing takes
 * its id, so that it starts nothing when it arrives later.
 */
export async function occupySubmission(
  ctx: Context,
  cluster: Cluster,
  { submissionId, user, name }: Pick<ManagedJob, "submissionId"> & Pick<Cluster, "user" | "name">,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Job> {
  const nothing = { setup: null, run: null, env: {}, demand: { cpus: 0, accelerators: 0 } };
  const lastJobId = await findLastJobId(ctx, cluster);
  const of = { submissionId, lastJobId, name, userId: user.id, userName: user.name };
  return ctx.agent(cluster, 0).call(api.submit, { ...of, ...nothing }, options);
}

/** Which job's log, and how much of it. */
interface ManagedLog {
  readonly jobId: number;
  readonly tail: number;
  /** Epoch milliseconds. */
  readonly since: number | undefined;
  readonly follow: boolean;
}

/**
 * The log of a job in pieces, for as long as it runs where it is followed; an agent that went
 * away is asked again from where it left off.
 */
export async function* readManagedLog(
  ctx: Context,
  cluster: Cluster,
  { jobId: id, tail, since, follow }: ManagedLog,
  signal: AbortSignal,
): AsyncGenerator<LogPiece> {
  const query = { id, tail, since, offset: 0, follow: follow ? "true" : "false" };
  yield* (await openJobLog(ctx, cluster, query, signal)).pieces;
}

/** What is asked for without a request: it has no record to write into, and is repeated by its row. */
const callFor = (
  ctx: Ground,
  { user, workspace }: Cluster,
  own: Pick<Call, "id" | "print" | "signal">,
): Call => ({
  ...own,
  user,
  role: "user",
  workspaces: [workspace],
  credential: "",
  workspace,
  origin: null,
  program: product.word,
  clientApi: null,
  command: "",
  body: null,
  progress: {},
  remember: async (_progress, also) => {
    if (also !== undefined) await ctx.batch(also);
  },
  aside: (wait) => wait,
  note: async () => {},
});

/**
 * Why the task of a cluster can never be submitted. Any other error may pass: then `tell` is given what is
 * waited for, and the error is thrown again.
 */
export async function whyRefused(
  error: unknown,
  signal: AbortSignal,
  tell: (reason: string) => Promise<unknown>,
): Promise<string> {
  signal.throwIfAborted();
  if (!(error instanceof AppError)) throw error;
  const { type, message } = error;
  if (hopeless.includes(type) || isBucketDenied(error))
    return `its task cannot be submitted: ${message}`;
  await tell(`waits to submit its task: ${message}`);
  throw error;
}

/** Whether somebody else has a bucket that a task names, or its keys do not open it. */
const isBucketDenied = ({ type, details }: AppError): boolean =>
  details["bucket"] !== undefined && ["ConflictError", "PermissionDeniedError"].includes(type);
