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
  const limit = new AbortController();
  const late = new AppError(
    "TimeoutError",
    `${calledBy(first)} has not ended yet; wait for it again`,
  );
  const atMostMs = Math.min(Math.max(0, input.timeout ?? longestMs) * 1_000, longestMs);
  const timer = setTimeout(() => limit.abort(late), atMostMs);
  const keys = chosen.map(({ id }) => taskKey(id));
  const signal = AbortSignal.any([call.signal, limit.signal]);
  const tasks = await call
    .aside(ctx.changes.until(keys, look, signal))
    .finally(() => clearTimeout(timer));
  return Math.max(...tasks.map(exitCodeOf));
}

/** What calls that follow a task leave as their result. */
export function exitCodeOf(task: Pick<JobTask, "status">): number {
  if (!hasEnded(task)) return jobExitCodes.NOT_FINISHED;
  if (task.status === "SUCCEEDED") return jobExitCodes.SUCCEEDED;
  return task.status === "CANCELLED" ? jobExitCodes.CANCELLED : jobExitCodes.FAILED;
}
