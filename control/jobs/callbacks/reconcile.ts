import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { envOf } from "../../../common/product.ts";
import type { Context } from "../../context.ts";
import { addEvent } from "../../events.ts";
import type { Aside, Reconciler } from "../../reconciler.ts";
import { secretsOf, withoutValues } from "../../task.ts";
import { openTask } from "../document.ts";
import { taskFolder } from "../folders.ts";
import { type JobTask, nothingTold, taskKey } from "../schema.ts";
import { listTasks, setTask } from "../store.ts";
import { idsOf } from "../variables.ts";
import { runScript } from "./script.ts";
import { findNextMove, listToTell, type Move } from "./store.ts";
import { mayCallBack } from "./tell.ts";

/**
 * Runs the `event_callback` of tasks for each change of their status: those of a job one after the other, beside what
 * the job does. One that was cut off with control is run again.
 */
export function callbacksBy(run: typeof runScript): Reconciler {
  return {
    name: "job_callback",
    everyMs: 60_000,
    atOnce: 8,
    due: async ({ db }) => (await listToTell(db)).map(String),
    reconcile: (ctx, jobId, _, aside) => reconcile(ctx, run, jobId, aside),
  };
}

export const jobCallbacks = callbacksBy(runScript);

/** A change that a task's script does not know of yet. */
interface News {
  readonly task: JobTask;
  readonly move: Move;
}

async function reconcile(
  ctx: Context,
  run: typeof runScript,
  jobId: string,
  aside: Aside,
): Promise<void> {
  for (;;) {
    const [news] = await listNews(ctx, await listTasks(ctx.db, [Number(jobId)]));
    if (news === undefined) return;
    const failure = await aside({
      what: "runs its event_callback",
      lane: "callbacks",
      user: news.task.job.user.id,
      isObsolete: async () => false,
      run: (signal) => callBack(ctx, run, news, signal),
    });
    await keep(ctx, news, failure);
  }
}

/** What a script is told first. */
const submitted: Move = { seq: 0, from: "PENDING", to: "PENDING" };

/** The next change for each task, the oldest first. A task that is over, and has been told so, is done with. */
async function listNews(ctx: Context, tasks: readonly JobTask[]): Promise<News[]> {
  const news: News[] = [];
  for (const task of tasks) {
    const { id, calledBack, settledAt } = task;
    if (calledBack === null) continue;
    const move =
      calledBack === nothingTold ? submitted : await findNextMove(ctx.db, id, calledBack);
    if (move !== undefined) news.push({ task, move });
    else if (settledAt !== null) await ctx.batch((tx) => setTask(tx, id, { calledBack: null }));
  }
  return news.toSorted((one, other) => one.move.seq - other.move.seq);
}

/** Runs the script for one change; answers why that failed. */
async function callBack(
  ctx: Context,
  run: typeof runScript,
  { task, move }: News,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { workspace } = task.job;
  if (!(await mayCallBack(ctx, workspace)))
    return `was not run: workspace ${workspace} can no longer use local (allowed_infra)`;
  const open = await openTask(ctx, task);
  if (typeof open === "string") return "cannot be read any more";
  const { eventCallback: text = "" } = open.task;
  const folder = join(taskFolder(ctx, task.id), "callback");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { taskId, taskIds } = await idsOf(ctx, task);
  const env = {
    ...ctx.config.nodeEnv,
    ...{ JOB_ID: String(task.job.id), TASK_ID: String(task.number), TASK_NAME: task.name },
    ...{ JOB_STATUS: told(move), CLUSTER_NAME: task.clusterName, EVENT_TYPE: "Spot" },
    ...envOf("TASK_ID", taskId),
    ...envOf("TASK_IDS", taskIds.join("\n")),
  };
  const failure = await run({ text, folder, env }, signal);
  return failure && withoutValues(failure, secretsOf(open.task));
}

/** A change in the words that scripts know. */
function told({ seq, from, to }: Move): string {
  if (seq === submitted.seq) return "SUBMITTED";
  if (to === "RUNNING") return from === "RECOVERING" ? "RECOVERED" : "STARTED";
  return to.startsWith("FAILED") ? "FAILED" : to;
}

/** A failure is told, and holds nothing up. */
async function keep(ctx: Context, { task, move }: News, failure: string | undefined) {
  const { id } = task;
  await ctx.batch(async (tx) => {
    await setTask(tx, id, { calledBack: move.seq });
    if (failure === undefined) return;
    const reason = `event_callback for ${told(move)} ${failure}`;
    await addEvent(tx, { noun: "managed_job", id, reason, isNoteworthy: true, at: ctx.now() });
  });
  ctx.changes.notify(taskKey(id));
}
