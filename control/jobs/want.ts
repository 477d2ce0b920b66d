import type { Connection } from "../db/open.ts";
import { type Cause, hold, want } from "../want.ts";
import { dequeued, hasEnded } from "./schema.ts";
import { findTask, setTask } from "./store.ts";

/** Wants a task cancelled. False, and nothing is written, where it has ended or is being cancelled. */
export async function wantCancelled(db: Connection, id: string, cause: Cause): Promise<boolean> {
  const task = await findTask(db, id);
  if (task === undefined || hasEnded(task) || task.wanted === "CANCELLED") return false;
  if (!(await hold(db, "managed_job", task))) return wantCancelled(db, id, cause);
  await setTask(db, id, dequeued);
  return want(db, "managed_job", id, { wanted: "CANCELLED", ...cause });
}
