import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { type Aside, obsolete, type Reconciler, type Step } from "../reconciler.ts";
import { leaveAhead } from "./ahead.ts";
import { bringUp } from "./attempt.ts";
import { tellCallback } from "./callbacks/tell.ts";
import { leave } from "./leave.ts";
import { moveTask } from "./move.ts";
import { isItsTurn, nudgeOthers } from "./order.ts";
import { findOutcome, leaseOf } from "./outcome.ts";
import { freesPlace, listNext, wakeQueued } from "./places.ts";
import { tellPool } from "./pool.ts";
import { hasEnded, type JobTask, type Outcome, type Result, taskKey } from "./schema.ts";
import { findTask, listUnsettled, setTask } from "./store.ts";

/** Brings the tasks of managed jobs to their end, each by itself. */
export const managedJobs: Reconciler = {
  name: "managed_job",
  everyMs: 5_000,
  atOnce: 64,
  due,
  reconcile,
};

/**
 * Tasks to look at in every round; events of its cluster already wake a task that runs and is being watched, and room
 * one that is queued.
 */
async function due(ctx: Context): Promise<string[]> {
  const isHeard = ({ status, waits_for, cluster_id, next_cluster_id, is_primary }: Unsettled) =>
    status === "RUNNING" &&
    waits_for === null &&
    next_cluster_id === null &&
    // Others may have to end at some time.
    is_primary === 1 &&
    ctx.watches.has(cluster_id ?? "");
  const unsettled = await listUnsettled(ctx.db);
  await Promise.all(unsettled.filter(isLeased).map((one) => takeUpLease(ctx, one)));
  const due = unsettled.filter((one) => !isHeard(one));
  return [...due.map(({ id }) => id), ...(await listNext(ctx.db, 1))];
}

const isLeased = ({ status, lease_ms }: Unsettled): boolean =>
  status === "RUNNING" && lease_ms !== null;

/** After a start of control a task that failed before may rest for longer than its lease lasts. */
async function takeUpLease(ctx: Context, { id, cluster_id }: Unsettled): Promise<void> {
  if (ctx.jobLeases.has(cluster_id)) return;
  const task = await findTask(ctx.db, id);
  const cluster = await findCluster(ctx.db, cluster_id ?? "");
  if (task !== undefined && cluster !== undefined) leaseOf(ctx, task, cluster);
}

type Unsettled = Awaited<ReturnType<typeof listUnsettled>>[number];

type Run = (ctx: Context, task: JobTask, signal: AbortSignal) => Promise<Result>;

/** What is done next for a task, beside the passes. */
type Next = Pick<Step<unknown>, "what" | "lane"> & { readonly run: Run };

/** One step after the other, until there is nothing to do, or not yet. */
async function reconcile(
  ctx: Context,
  id: string,
  _signal: AbortSignal,
  aside: Aside,
): Promise<void> {
  for (let task = await findTask(ctx.db, id); task !== undefined; ) {
    if (task.settledAt !== null || !(await isItsTurn(ctx, task))) return;
    const result = await goOn(ctx, task, aside);
    if (result === undefined) return;
    const moved: JobTask | undefined =
      result === "again" ? undefined : await follow(ctx, task, result);
    if (moved !== undefined && result !== "again" && result.isWoken) return;
    task = moved ?? (await findTask(ctx.db, id));
  }
}

async function goOn(ctx: Context, task: JobTask, aside: Aside): Promise<Result> {
  const { run, ...step } = nextOf(task);
  const doing = aside({
    ...step,
    user: task.job.user.id,
    isObsolete: async () => (await findTask(ctx.db, task.id))?.wanted !== task.wanted,
    run: (limit) => run(ctx, task, limit),
  });
  return doing.catch((error: unknown) => {
    if (error === obsolete) return "again";
    throw error;
  });
}

/** Moves a task, as a step has come out, and wakes those who wait for that. */
async function follow(ctx: Context, task: JobTask, next: Outcome): Promise<JobTask | undefined> {
  const moved = await moveTask(ctx, task, next);
  tellCallback(ctx, task);
  await nudgeOthers(ctx, task, next.to);
  if (next.to === "CANCELLED") tellPool(ctx, task);
  if (freesPlace(task, next.to)) await wakeQueued(ctx);
  return moved;
}

function nextOf(task: JobTask): Next {
  const { status, wanted } = task;
  if (hasEnded(task)) return { what: "deletes its cluster", lane: "leaves", run: settle };
  if (status === "CANCELLING") return { what: "deletes its cluster", lane: "leaves", run: cancel };
  if (wanted === "CANCELLED") return { what: "is cancelled", lane: "leaves", run: beginCancel };
  if (status === "RUNNING") return { what: "checks on its job", lane: "looks", run: findOutcome };
  return { what: "starts its next attempt", lane: "makes", run: bringUp };
}

const beginCancel: Run = async (_, { wantedBecause: reason }) => ({ to: "CANCELLING", reason });

const cancel: Run = async (ctx, task, signal) => {
  if (!(await isLeft(ctx, task, signal))) return undefined;
  const change = { settledAt: ctx.now().getTime(), queuedAt: null, begunAt: null };
  return { to: "CANCELLED", reason: task.wantedBecause, change };
};

const settle: Run = async (ctx, task, signal) => {
  if (!(await isLeft(ctx, task, signal))) return undefined;
  await note(ctx, task);
  tellPool(ctx, task);
  return undefined;
};

async function isLeft(ctx: Context, task: JobTask, signal: AbortSignal): Promise<boolean> {
  const isNextLeft = await leaveAhead(ctx, task);
  const cluster = await findCluster(ctx.db, task.clusterId ?? "");
  return (await leave(ctx, task, cluster, signal)) && isNextLeft;
}

async function note(ctx: Context, task: JobTask): Promise<void> {
  const settledAt = ctx.now().getTime();
  await ctx.batch((tx) => setTask(tx, task.id, { settledAt, begunAt: null, waitsFor: null }));
  ctx.changes.notify(taskKey(task.id));
  tellCallback(ctx, task);
  await wakeQueued(ctx);
}
