import { managedJobMachine } from "../../contract/statuses.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { tellWait } from "./move.ts";
import { calledInJob, hasEnded, type JobTask } from "./schema.ts";
import { findTaskOf, listPrimary, listTasks, listWaiting, queueForTurn } from "./store.ts";
import { wakeTask, wantCancelled } from "./want.ts";

/** What the other tasks of its job mean for a task. */
export type Turn =
  | { readonly kind: "go"; readonly ending?: string }
  | { readonly kind: "wait"; readonly waitsFor: string }
  | { readonly kind: "cancel"; readonly because: string };

/** What is asked of another task. */
type Other = Pick<JobTask, "number" | "name" | "status" | "endedAt">;

const go: Turn = { kind: "go" };
const hasSucceeded = ({ status }: Other): boolean => status === "SUCCEEDED";

/**
 * What a task of a pipeline may do: it begins when the task before has succeeded, and is cancelled when that cannot
 * happen any more. Pure.
 */
export function turnAfter(before: Other | undefined): Turn {
  if (before === undefined || hasSucceeded(before)) return go;
  if (!hasEnded(before))
    return { kind: "wait", waitsFor: `waits for ${calledInJob(before)} to succeed` };
  return { kind: "cancel", because: `${calledInJob(before)} before it is ${before.status}` };
}

/**
 * What a task of a group may do that is not primary: it ends some time after the primary ones, and at once when one of
 * those has failed. Pure.
 */
export function turnBeside(
  { delayMs }: Pick<JobTask, "delayMs">,
  primary: readonly Other[],
  now: number,
): Turn {
  if (!primary.every(hasEnded)) return go;
  const failed = primary.find((one) => !hasSucceeded(one));
  if (failed !== undefined)
    return { kind: "cancel", because: `${calledInJob(failed)} of its group is ${failed.status}` };
  const until = Math.max(...primary.map(({ endedAt }) => endedAt ?? 0)) + delayMs;
  const because = "the primary tasks of its group have ended";
  if (now >= until) return { kind: "cancel", because };
  return { kind: "go", ending: `is cancelled at ${new Date(until).toISOString()}, as ${because}` };
}

async function turnOf(db: Queries, task: JobTask, now: number): Promise<Turn> {
  const { job, number, isPrimary, status } = task;
  if (job.execution === "serial")
    // One that has begun is past it.
    return status === "PENDING" ? turnAfter(await findTaskOf(db, job.id, number - 1)) : go;
  return isPrimary ? go : turnBeside(task, await listPrimary(db, job.id), now);
}

/**
 * Whether a task may go on with what it does; where it may not, says what it waits for, or has it cancelled.
 */
export async function isItsTurn(ctx: Context, task: JobTask): Promise<boolean> {
  if (task.job.execution === null || hasEnded(task) || task.wanted === "CANCELLED") return true;
  const turn = await turnOf(ctx.db, task, ctx.now().getTime());
  if (turn.kind === "go") return true;
  if (turn.kind === "wait") {
    await tellWait(ctx, task, turn.waitsFor);
    await ctx.batch((tx) => queueForTurn(tx, task));
  } else {
    await ctx.batch((tx) => wantCancelled(tx, task.id, { because: turn.because }));
    wakeTask(ctx, task.id);
  }
  return false;
}

/** When a task that runs is cancelled, as the primary tasks of its group have ended; null where it is not yet. */
export async function endingOf(ctx: Ground, task: JobTask): Promise<string | null> {
  if (task.isPrimary) return null;
  const turn = turnBeside(task, await listPrimary(ctx.db, task.job.id), ctx.now().getTime());
  return (turn.kind === "go" && turn.ending) || null;
}

/**
 * Whether each task of a group has a cluster that is up, so that they find each other: they begin together. A task that
 * has begun before waits for nobody.
 */
export async function isGroupUp(ctx: Context, task: JobTask): Promise<boolean> {
  const { job, startedAt } = task;
  if (job.execution !== "parallel" || startedAt !== null) return true;
  for (const other of await listTasks(ctx.db, [job.id])) {
    const isPast = hasEnded(other) || other.wanted === "CANCELLED" || other.startedAt !== null;
    if (isPast || (await findCluster(ctx.db, other.clusterId ?? ""))?.status === "UP") continue;
    await tellWait(ctx, task, `waits until ${calledInJob(other)} of its group has its cluster`);
    return false;
  }
  return true;
}

/** Wakes those of its job who may have waited for what has become of a task. */
export async function nudgeOthers(
  ctx: Context,
  { job, number }: JobTask,
  to: JobTask["status"],
): Promise<void> {
  const isOver = managedJobMachine.isFinal(to);
  if (job.execution === "serial" && isOver) {
    const next = await findTaskOf(ctx.db, job.id, number + 1);
    if (next !== undefined) void nudge(ctx, "managed_job", next.id);
  }
  if (job.execution === "parallel" && (isOver || to === "RUNNING"))
    for (const id of await listWaiting(ctx.db, job.id)) void nudge(ctx, "managed_job", id);
}
