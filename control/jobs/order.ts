import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { tellWait } from "./move.ts";
import { hasEnded, type JobTask, taskKey } from "./schema.ts";
import { listTasks } from "./store.ts";
import { wantCancelled } from "./want.ts";

/** What the other tasks of its job mean for a task. */
export type Turn =
  | { readonly kind: "go" }
  | { readonly kind: "wait"; readonly waitsFor: string }
  /** It runs on for now; `until` is when it no longer may. */
  | { readonly kind: "linger"; readonly until: number }
  | { readonly kind: "cancel"; readonly because: string };

const go: Turn = { kind: "go" };

/**
 * What a task may do. In a pipeline it begins when the task before has succeeded, and is cancelled when that cannot
 * happen any more. In a group the tasks that are not primary end some time after the primary ones, and at once
 * when one of those has failed. Pure; `tasks` are all of the job, itself included.
 */
export function turnOf(task: JobTask, tasks: readonly JobTask[], now: number): Turn {
  if (task.job.execution === "serial") return turnInPipeline(tasks[task.number - 1]);
  return task.isPrimary ? go : turnBeside(task, tasks.filter(isPrimary), now);
}

const isPrimary = ({ isPrimary: is }: JobTask): boolean => is;
const hasSucceeded = ({ status }: JobTask): boolean => status === "SUCCEEDED";
const called = ({ number, name }: JobTask): string => `task ${number} (${name})`;

function turnInPipeline(before: JobTask | undefined): Turn {
  if (before === undefined || hasSucceeded(before)) return go;
  if (!hasEnded(before))
    return { kind: "wait", waitsFor: `waits for ${called(before)} to succeed` };
  return { kind: "cancel", because: `${called(before)} before it is ${before.status}` };
}

function turnBeside({ delayMs }: JobTask, primary: readonly JobTask[], now: number): Turn {
  if (!primary.every(hasEnded)) return go;
  const failed = primary.find((one) => !hasSucceeded(one));
  if (failed !== undefined)
    return { kind: "cancel", because: `${called(failed)} of its group is ${failed.status}` };
  const until = Math.max(...primary.map(({ endedAt }) => endedAt ?? 0)) + delayMs;
  if (now < until) return { kind: "linger", until };
  return { kind: "cancel", because: "the primary tasks of its group have ended" };
}

/**
 * Whether a task may go on with what it does; where it may not, says what it waits for, or has it cancelled.
 */
export async function isItsTurn(ctx: Context, task: JobTask): Promise<boolean> {
  const { job, wanted } = task;
  if (job.execution === null || hasEnded(task) || wanted === "CANCELLED") return true;
  const turn = turnOf(task, await listTasks(ctx.db, [job.id]), ctx.now().getTime());
  if (turn.kind === "wait") await tellWait(ctx, task, turn.waitsFor);
  if (turn.kind === "cancel") {
    await ctx.batch((tx) => wantCancelled(tx, task.id, { because: turn.because }));
    ctx.changes.notify(taskKey(task.id));
    void nudge(ctx, "managed_job", task.id);
  }
  return turn.kind === "go" || turn.kind === "linger";
}

/**
 * Whether each task of a group has a cluster that is up, so that they find each other: they begin together. A task that
 * has begun before waits for nobody.
 */
export async function isGroupUp(ctx: Ground, task: JobTask): Promise<boolean> {
  const { job, startedAt } = task;
  if (job.execution !== "parallel" || startedAt !== null) return true;
  for (const other of await listTasks(ctx.db, [job.id])) {
    const isPast = hasEnded(other) || other.wanted === "CANCELLED" || other.startedAt !== null;
    if (isPast || (await findCluster(ctx.db, other.clusterId ?? ""))?.status === "UP") continue;
    await tellWait(ctx, task, `waits until ${called(other)} of its group has its cluster, too`);
    return false;
  }
  return true;
}

/** Wakes those of its job who may have waited for what has become of a task. */
export async function nudgeOthers(ctx: Context, { id, job }: JobTask): Promise<void> {
  if (job.execution === null) return;
  for (const other of await listTasks(ctx.db, [job.id]))
    if (other.id !== id && !hasEnded(other)) void nudge(ctx, "managed_job", other.id);
}
