import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { wakeForWish } from "../reconciler.ts";
import { type Cause, hold, want } from "../want.ts";
import { dequeued, hasEnded, taskKey } from "./schema.ts";
import { findTask, setTask } from "./store.ts";

/** Wants a task cancelled. False, and nothing is written, where it has ended or is being cancelled. */
export async function wantCancelled(db: Connection, id: string, cause: Cause): Promise<boolean> {
  const task = await findTask(db, id);
  if (task === undefined || hasEnded(task) || task.wanted === "CANCELLED") return false;
  if (!(await hold(db, "managed_job", task))) return wantCancelled(db, id, cause);
  await setTask(db, id, dequeued);
  return want(db, "managed_job", id, { wanted: "CANCELLED", ...cause });
}

/** Has the reconciler, and all who wait for a task, look at it now: it may have to be cancelled. */
export function wakeTask(ctx: Context, id: string): void {
  ctx.changes.notify(taskKey(id));
  wakeForWish(ctx, "managed_job", id);
}
