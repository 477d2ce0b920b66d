import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { addDownload, type Log } from "../downloads.ts";
import type { Ground } from "../ground.ts";
import { findTasks } from "./find.ts";
import { keptAttempt, keptDecisions } from "./logs.ts";
import type { JobTask } from "./schema.ts";

type Input = InputOf<typeof rows.downloadLogs>;

/**
 * Copies the log of each attempt at a job, or what was decided about it, to the caller's folder on control; the
 * path is for `download`. Nothing where there is no such job.
 */
export async function downloadLogs(
  ctx: Context,
  input: Input,
  call: Call,
): Promise<Record<string, string>> {
  const tasks = await findTasks(ctx, { ...input, task: null }, call);
  const [first] = tasks;
  if (first === undefined) return {};
  const logs = tasks.flatMap((task) => {
    const before = tasks.length > 1 ? `task-${task.number}-` : "";
    const own = input.controller ? [decisionsOf(ctx, task)] : attemptsOf(ctx, task);
    return own.map(({ name, chunks }) => ({ name: `${before}${name}`, chunks }));
  });
  const { id } = first.job;
  const place = `managed-job-${id}${input.controller ? "-controller" : ""}`;
  return { [id]: await addDownload(ctx, call, input.env_vars, place, logs) };
}

const decisionsOf = (ctx: Ground, { id }: JobTask): Log => ({
  name: "controller.log",
  chunks: keptDecisions(ctx, id),
});

const attemptsOf = (ctx: Ground, { id, attempt }: JobTask): Log[] =>
  Array.from({ length: attempt }, (_, index) => ({
    name: `attempt-${index + 1}.log`,
    chunks: keptAttempt(ctx, id, index + 1),
  }));
