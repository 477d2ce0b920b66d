import { AppError } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { getTasks } from "./find.ts";
import { calledBy, hasEnded, type JobTask, taskKey } from "./schema.ts";
import { listTasks } from "./store.ts";

const longestMs = 2 ** 31 - 1;

/** Waits until a job, or one task of it, has ended; answers how, as an exit code. */
export async function wait(
  ctx: Context,
  input: InputOf<typeof rows.wait>,
  call: Call,
): Promise<number> {
  const chosen = await getTasks(ctx, input, call);
  const [first] = chosen;
  if (first === undefined) return jobExitCodes.NOT_FOUND;
  const isChosen = (task: JobTask) => chosen.some(({ id }) => id === task.id);
  const look = async () => {
    const tasks = (await listTasks(ctx.db, [first.job.id])).filter(isChosen);
    return tasks.every(hasEnded) ? tasks : undefined;
  };
  const called = chosen.length === 1 ? calledBy(first) : `managed job ${first.job.id}`;
  const limit = new AbortController();
  const late = new AppError("TimeoutError", `${called} has not ended yet; wait for it again`);
  const atMostMs = Math.min(Math.max(0, input.timeout ?? longestMs) * 1_000, longestMs);
  const timer = setTimeout(() => limit.abort(late), atMostMs);
  const keys = chosen.map(({ id }) => taskKey(id));
  const signal = AbortSignal.any([call.signal, limit.signal]);
  const tasks = await call
    .aside(ctx.changes.until(keys, look, signal))
    .finally(() => clearTimeout(timer));
  return exitCodeOf(tasks);
}

/**
 * How tasks of a job fared, as the exit code of what follows them. Of a job group the primary tasks count, as the others
 * are cancelled when those have ended.
 */
export function exitCodeOf(tasks: readonly JobTask[]): number {
  const counted = tasks.length > 1 ? tasks.filter(({ isPrimary }) => isPrimary) : tasks;
  const has = (isSo: (task: JobTask) => boolean) => counted.some(isSo);
  if (!counted.every(hasEnded)) return jobExitCodes.NOT_FINISHED;
  if (has(({ status }) => status.startsWith("FAILED"))) return jobExitCodes.FAILED;
  return has(({ status }) => status === "CANCELLED")
    ? jobExitCodes.CANCELLED
    : jobExitCodes.SUCCEEDED;
}
