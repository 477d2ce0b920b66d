import { Readable } from "node:stream";
import {
  noMore,
  offsetOfLastLines,
  readGrowing,
  sizeOf,
  untilMore,
} from "../../common/growing-file.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import { missingEnd } from "../../contract/job-log.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Call, LogReply } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { copyStateOf, readCopy } from "../log-copy.ts";
import { controlLine } from "../wire/control-lines.ts";
import { neutralise, neutraliseText } from "../wire/neutralise.ts";
import { sideBySide } from "../wire/side-by-side.ts";
import { findTasks, noSuchJob } from "./find.ts";
import { attemptLogOf, controllerLogOf } from "./folders.ts";
import { lacksRest } from "./log-rests.ts";
import { hasEnded, type JobTask, taskKey } from "./schema.ts";
import { findTask, listTasks } from "./store.ts";
import { exitCodeOf } from "./wait.ts";

type Input = InputOf<typeof rows.logs>;

/** How much of a log is wanted: its last lines, 0 for all, and what comes. */
interface Wanted {
  readonly tail: number;
  readonly follow: boolean;
}

/**
 * Streams what a job printed in all its attempts, or what was decided about it; its exit code tells how it fared. Of a
 * pipeline one task after the other, of a job group all tasks side by side.
 */
export async function logs(ctx: Context, input: Input, call: Call): Promise<LogReply> {
  const tasks = await findTasks(ctx, input, call);
  const [first, ...others] = tasks;
  if (first === undefined)
    return { body: `${noSuchJob(input)}\n`, exitCode: async () => jobExitCodes.NOT_FOUND };
  const wanted = { tail: Math.max(input.tail ?? 0, 0), follow: input.follow };
  const logOf = (task: JobTask, caller: Call) =>
    input.controller
      ? controllerLog(ctx, task, wanted, call.signal)
      : attemptLogs(ctx, task, wanted, caller);
  const text = others.length === 0 ? logOf(first, call) : logsOf(tasks, call, logOf);
  const ids = new Set(tasks.map(({ id }) => id));
  const now = async () => (await listTasks(ctx.db, [first.job.id])).filter(({ id }) => ids.has(id));
  return { body: Readable.from(text), exitCode: async () => exitCodeOf(await now()) };
}

async function* logsOf(
  tasks: readonly JobTask[],
  call: Call,
  logOf: (task: JobTask, caller: Call) => AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  const prefixOf = ({ name }: JobTask) => `(${neutraliseText(name)}) `;
  // What a task of a group waits for would stand in the lines of others.
  const mute = { ...call, program: "" };
  const named = (task: JobTask) => ({ prefix: prefixOf(task), chunks: logOf(task, mute) });
  if (tasks[0]?.job.execution === "parallel") return yield* sideBySide(tasks.map(named));
  for (const task of tasks) yield* logOf(task, call);
}

async function* controllerLog(
  ctx: Ground,
  { id }: JobTask,
  { tail, follow }: Wanted,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const isOver = async () => ((await findTask(ctx.db, id))?.settledAt ?? null) !== null;
  const more = follow ? untilMore(ctx.changes, taskKey(id), isOver, signal) : noMore;
  yield* neutralise(readGrowing(controllerLogOf(ctx, id), tail, more));
}

/** One attempt after the other; of the last lines, those of the present one. */
async function* attemptLogs(
  ctx: Context,
  { id, attempt: present }: JobTask,
  { tail, follow }: Wanted,
  call: Call,
): AsyncGenerator<Buffer> {
  const first = tail > 0 ? Math.max(1, present) : 1;
  for (let attempt = first; ; attempt += 1) {
    if (follow) yield* untilBegun(ctx, id, attempt, call);
    const now = await findTask(ctx.db, id);
    if (now === undefined || now.attempt < attempt) return;
    const file = attemptLogOf(ctx, id, attempt);
    const lines = attempt === first ? tail : 0;
    const offset = await offsetOfLastLines(file, lines, (await copyStateOf(file)).gap);
    const isGrowing = follow && now.clusterJob !== null && now.attempt === attempt;
    using _growing = isGrowing && !hasEnded(now) ? ctx.jobLogs.follow(now) : undefined;
    const isLast = async (at: number) => !follow || isReadToEnd(ctx, now, attempt, at, call.signal);
    yield* attemptLog(file, offset, isLast);
    if (!follow && attempt >= now.attempt) return;
  }
}

/** What is here of the log of an attempt. */
export const keptAttempt = (ctx: Ground, taskId: string, attempt: number): AsyncIterable<Buffer> =>
  attemptLog(attemptLogOf(ctx, taskId, attempt), 0, async () => true);

/** As `readCopy`; says where its end is missing. */
async function* attemptLog(
  ...[file, ...given]: Parameters<typeof readCopy>
): AsyncGenerator<Buffer> {
  yield* neutralise(readCopy(file, ...given));
  if (await lacksRest(file)) yield Buffer.from(missingEnd);
}

/** What was decided about a task so far. */
export const keptDecisions = (ctx: Ground, taskId: string): AsyncIterable<Buffer> =>
  neutralise(readGrowing(controllerLogOf(ctx, taskId), 0, noMore));

/** Waits until an attempt was submitted, or none will be any more; tells our own client what for. */
async function* untilBegun(
  ctx: Ground,
  id: string,
  attempt: number,
  { program, signal }: Call,
): AsyncGenerator<Buffer> {
  for (let told = ""; ; ) {
    const look = async () => {
      const task = await findTask(ctx.db, id);
      if (task === undefined || isBegun(task, attempt)) return null;
      const text = `Managed job ${task.job.id} is ${task.status}: ${task.waitsFor ?? task.reason}`;
      return text === told ? undefined : text;
    };
    const text = await ctx.changes.until(taskKey(id), look, signal);
    if (text === null) return;
    told = text;
    if (program === product.word) yield Buffer.from(controlLine("rich_update", text));
  }
}

const isBegun = (task: JobTask, attempt: number): boolean =>
  hasEnded(task) ||
  task.attempt > attempt ||
  (task.attempt === attempt && task.clusterJob !== null);

/** Whether nothing comes in an attempt's log after what was read; waits until there is more, or that is sure. */
async function isReadToEnd(
  ctx: Ground,
  { id }: JobTask,
  attempt: number,
  at: number,
  signal: AbortSignal,
): Promise<boolean> {
  const file = attemptLogOf(ctx, id, attempt);
  const look = async () => {
    if ((await sizeOf(file)) > at) return false;
    if ((await copyStateOf(file)).isWhole) return true;
    const task = await findTask(ctx.db, id);
    const isOver = task === undefined || task.settledAt !== null || task.attempt > attempt;
    // Nothing is left of it, and the next one may not begin for long.
    return isOver || task.clusterJob === null || undefined;
  };
  return ctx.changes.until(taskKey(id), look, signal);
}
