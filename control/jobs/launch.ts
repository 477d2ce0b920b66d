import { createHash, randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { caps } from "../../contract/caps.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { Task, TaskDocument } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import { checkManagedFiles } from "../clusters/managed.ts";
import type { Context } from "../context.ts";
import { describeAsked } from "../offer-words.ts";
import { refuseImpossible } from "../offers.ts";
import { nudge } from "../reconciler.ts";
import { withStoredSecrets } from "../secrets/fill.ts";
import { readDocument, remarksOn, withoutSecrets } from "../task.ts";
import { withVolumes } from "../volumes/place.ts";
import { causeOf } from "../want.ts";
import { admitJob } from "../workspaces/admit.ts";
import { withDefaults } from "../workspaces/defaults.ts";
import { mayCallBack, tellCallback } from "./callbacks/tell.ts";
import { membershipOf } from "./join.ts";
import { placesFor } from "./places.ts";
import { getPoolId, requirePool, shareOf, tellPool } from "./pool.ts";
import { nothingTold } from "./schema.ts";
import { addJobs, listNew, listSubmitted, type NewJob, type NewTask } from "./submit-store.ts";

type Input = InputOf<typeof rows.launch>;

/** Submits managed jobs; answers their numbers. From there on control runs them to their end. */
export async function launch(ctx: Context, given: Input, call: Call) {
  const whole = await withDefaults(ctx, call.workspace, given.task);
  const yaml = await withVolumes(ctx, await withStoredSecrets(ctx, whole, call), call);
  const known = await listSubmitted(ctx.db, submissionOf(given, call));
  const ids = known.length > 0 ? known : await submit(ctx, given, yaml, call);
  await tellOf(ctx, ids);
  call.print(describeSubmitted(ids));
  return { job_id: ids, handle: null };
}

/** What a launch is known by: the id that its caller gave it, or that of its request. */
function submissionOf({ submission_id: id }: Input, call: Call): string {
  const parts = [call.user.id, call.workspace, id];
  return id === null ? call.id : createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Has those looked at who have something to do for new jobs: those that are queued wait for their turn. */
async function tellOf(ctx: Context, ids: readonly number[]): Promise<void> {
  const tasks = await listNew(ctx.db, ids);
  for (const { id, queued_at: queuedAt, queued_for: queuedFor } of tasks)
    if (queuedAt === null && queuedFor === null) void nudge(ctx, "managed_job", id);
  for (const poolId of new Set(tasks.map((task) => task.pool_id)))
    tellPool(ctx, { poolId, clusterId: null });
  for (const { job_id: id, called_back: calledBack } of tasks)
    tellCallback(ctx, { calledBack, job: { id } });
}

function describeSubmitted(ids: readonly number[]): string {
  const [first, last] = [ids[0], ids.at(-1)];
  if (ids.length > 1) return `Managed jobs ${first} to ${last} are submitted\n`;
  return `Managed job ${first} is submitted; its log: ${product.word} jobs logs ${first}\n`;
}

/** What cannot be done with a job is refused, before anything is stored. */
export function checkLaunch(input: Input): void {
  const { pool, num_jobs: copies, parent_job_id: parentId, job_group_explicit: must } = input;
  if (must && parentId === null)
    fail(
      "ValueError",
      "give parent_job_id, the job group to join, or leave job_group_explicit out",
    );
  const { kind, tasks } = readDocument(input.task);
  for (const task of tasks) checkManagedFiles(task);
  checkSiblings(tasks);
  if (pool === null && new Set(tasks.map(({ inPool }) => inPool)).size > 1)
    fail("ValueError", "tasks of a job run in one pool: name it in each of them, or in none");
  if (pool !== null && kind === "group")
    fail("ValueError", "a job group has clusters of its own: leave pool out");
  if (tasks.some((task) => (pool ?? task.inPool ?? null) !== null && leaseOf(task) !== null))
    fail(
      "ValueError",
      "a job of a pool cannot have a job_recovery.lease, because other jobs use its worker; remove the lease or the pool",
    );
  if (parentId !== null && (kind !== "task" || (copies ?? 1) !== 1))
    fail("NotSupportedError", "only a single job with one task can join a job group");
  if (copies !== null && (copies < 1 || copies * tasks.length > caps.entries))
    fail(
      "ValueError",
      `num_jobs must be at least 1, and all copies have at most ${caps.entries} tasks`,
    );
}

/** Throws where tasks of a job cannot be told apart, or do not agree on their priority. */
function checkSiblings(tasks: readonly Task[]): void {
  const names = tasks.flatMap(({ name }) => name ?? []);
  const twin = names.find((name, at) => names.indexOf(name) < at);
  if (twin !== undefined) fail("ValueError", `two tasks are named ${twin}; give each another name`);
  const priorities = new Set(tasks.map(({ resources }) => resources.priority));
  if (priorities.size > 1)
    fail("ValueError", `tasks of a job have one priority, not ${[...priorities].join(" and ")}`);
}

async function submit(ctx: Context, given: Input, yaml: string, call: Call): Promise<number[]> {
  const document = readDocument(yaml);
  const { tasks } = document;
  call.print(await remarksOn(ctx, document, used));
  const { file_mounts_blob_id: blobId = null } = given;
  const pool = given.pool ?? tasks[0]?.inPool ?? null;
  const poolId = pool === null ? null : await getPoolId(ctx, pool, call.workspace, call);
  await checkCallbacks(ctx, tasks, call);
  if (poolId === null)
    for (const task of tasks) await refuseImpossible(ctx, task, call.workspace, call.signal);
  const name = given.name ?? document.name ?? tasks[0]?.name ?? "job";
  const job: Omit<NewJob, "joined" | "rooms"> = {
    ...{
      requestId: submissionOf(given, call),
      name,
      user: call.user,
      workspace: call.workspace,
      pool,
    },
    execution: executions[document.kind],
    copies: given.num_jobs ?? 1,
    command: tasks.reduce((text, task) => withoutSecrets(text, task), call.command),
    priority: tasks[0]?.resources.priority ?? 0,
    submittedAt: ctx.now().getTime(),
    document: { yaml, blobId },
    reason: causeOf(call, "submitted").because,
  };
  const shareIn = (task: Task) => (poolId === null ? null : shareOf(task, blobId));
  const newTasks = tasks.map((task, at) => ({
    name: task.name ?? (tasks.length === 1 ? name : `${name}-${at}`),
    ...{ resources: describeAsked(task), poolId, share: shareIn(task) },
    ...partIn(document, task),
    // A workspace may give every task a lease, and other jobs use the worker of a pool, too.
    leaseMs: poolId === null ? leaseOf(task) : null,
    calledBack: task.eventCallback === undefined ? null : nothingTold,
  }));
  return write(ctx, job, newTasks, given, call);
}

const leaseOf = ({ resources }: Task): number | null => {
  const seconds = resources.jobRecovery?.leaseSeconds ?? null;
  return seconds === null ? null : seconds * 1_000;
};

const executions = { task: null, pipeline: "serial", group: "parallel" } as const;

async function checkCallbacks(ctx: Context, tasks: readonly Task[], { workspace }: Call) {
  if (tasks.every(({ eventCallback }) => eventCallback === undefined)) return;
  if (await mayCallBack(ctx, workspace)) return;
  fail(
    "UserRequestRejectedByPolicy",
    `workspace ${workspace}: event_callback runs on the machine of the control plane, and the configuration does not allow local (allowed_infra)`,
  );
}

const used = ["event_callback", "resources.job_recovery", "the name of a pool"];

/** What a job group says of one of its tasks; any other task is the only one that counts. */
function partIn({ group }: TaskDocument, { name = "" }: Task) {
  if (group === undefined) return { isPrimary: true, delayMs: 0 };
  const { primaryTasks: primary, terminationDelaySeconds: delays } = group;
  return {
    isPrimary: primary.length === 0 || primary.includes(name),
    delayMs: (delays.byTask[name] ?? delays.default) * 1_000,
  };
}

async function write(
  ctx: Context,
  job: Omit<NewJob, "joined" | "rooms">,
  tasks: readonly NewTask[],
  given: Input,
  call: Call,
): Promise<number[]> {
  const newId = () => randomBytes(6).toString("hex");
  const { ids, remark } = await ctx.batch(async (tx) => {
    const known = await listSubmitted(tx, job.requestId);
    if (known.length > 0) return { ids: known, remark: "" };
    await admitJob(ctx, tx, call.workspace, call);
    await requirePool(tx, tasks[0]?.poolId ?? null);
    const joined = await membershipOf(tx, given, call);
    const isRefused = typeof joined === "string";
    if (isRefused && given.job_group_explicit) fail("ValueError", `it cannot join: ${joined}`);
    const rooms = await placesFor(ctx, tx, job);
    const whole = { ...job, rooms, joined: isRefused ? null : joined };
    const ids = await addJobs(tx, ctx.seal, whole, tasks, newId);
    return { ids, remark: isRefused ? `It is a job by itself, as ${joined}\n` : "" };
  });
  call.print(remark);
  return ids;
}
