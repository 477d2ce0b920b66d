import { managedJobMachine } from "../../contract/statuses.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { move } from "../move.ts";
import { amountOf, moveCount } from "./counts.ts";
import { narrate } from "./narration.ts";
import { placesAfter } from "./places.ts";
import { type JobTask, type Outcome, type TaskChange, taskKey } from "./schema.ts";
import { freeNext, setTask, toColumns } from "./store.ts";

/**
 * Moves a task, and tells of it; keeps its times and the counts of tasks. What it waited for is over. Returns the task
 * as it now is; undefined where it is not moved, as `move` says.
 */
export async function moveTask(
  ctx: Ground,
  task: JobTask,
  { to, reason, change = {} }: Outcome,
): Promise<JobTask | undefined> {
  const now = ctx.now().getTime();
  const { user, workspace } = task.job;
  const times = timesOf(task, to, now);
  const changes = { reason, waitsFor: null, ...placesAfter(to), ...times, ...change };
  const of = { user_id: user.id, workspace };
  const isLast = managedJobMachine.isFinal(to) && task.job.execution === "serial";
  const isMoved = await move(ctx, managedJobMachine, task, to, reason, {
    change: toColumns(changes),
    async also(tx) {
      await moveCount(tx, of, task.status, to, amountOf(task, 1));
      if (isLast) await freeNext(tx, task);
    },
  });
  if (!isMoved) return undefined;
  narrate(ctx, task.id, `${to}: ${reason}`);
  return { ...task, ...changes, status: to, statusChangedAt: now };
}

/** What a move says of how long a task ran, and when it began and ended. */
function timesOf(
  { runAt, ranMs, startedAt, recoveries }: JobTask,
  to: Outcome["to"],
  now: number,
): TaskChange {
  const isRecovered = to === "RUNNING" && startedAt !== null;
  return {
    runAt: to === "RUNNING" ? now : null,
    // A clock that was set back takes nothing away.
    ranMs: ranMs + (runAt === null ? 0 : Math.max(0, now - runAt)),
    ...(to === "RUNNING" && { startedAt: startedAt ?? now }),
    ...(isRecovered && { recoveredAt: now, recoveries: recoveries + 1 }),
    ...(managedJobMachine.isFinal(to) && { endedAt: now }),
  };
}

/** Says once what a task waits for, and what would end that; null takes it back. */
export async function tellWait(ctx: Ground, task: JobTask, waitsFor: string | null): Promise<void> {
  if (task.waitsFor === waitsFor) return;
  const reason = waitsFor ?? "waits no longer";
  await ctx.batch(async (tx) => {
    await setTask(tx, task.id, { waitsFor });
    await addEvent(tx, { noun: "managed_job", id: task.id, reason, at: ctx.now() });
  });
  ctx.changes.notify(taskKey(task.id));
}
