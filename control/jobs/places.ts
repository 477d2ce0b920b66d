import { setImmediate } from "node:timers/promises";
import { settingName } from "../../common/config.ts";
import type { Context } from "../context.ts";
import type { Connection, Queries } from "../db/open.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import {
  countAhead,
  countBegun,
  countBegunTasks,
  countLaunching,
  freeOthers,
  hasBegun,
  listFirst,
  type Queued,
  rankOf,
} from "./place-store.ts";
import {
  dequeued,
  type JobTask,
  type ManagedJob,
  type Room,
  type TaskChange,
  taskKey,
} from "./schema.ts";
import { setTask } from "./store.ts";

/**
 * How many jobs are under way, and how many tasks are launched, at the same time. The others are queued by priority, then
 * age, and woken when it is their turn.
 */

const queues: readonly Queued[] = ["job", "launch"];
/** How many of a queue are looked at together when there may be room: one after the other would take long. */
const wokenAtOnce = 16;

const exactly = Number.POSITIVE_INFINITY;

/** What is waited for in each queue, and what ends that. */
export const placeReasons: Readonly<Record<Queued, (config: Ground["config"]) => string>> = {
  job: ({ managedJobsAtMost: most }) =>
    `waits until one of ${most} managed jobs has ended, as no more run at the same time (${settingName("managedJobsAtMost")})`,
  launch: ({ jobLaunchesAtOnce: most }) =>
    `waits until one of ${most} managed jobs has its machine, as no more are launched at the same time (${settingName("jobLaunchesAtOnce")})`,
};

/**
 * Lets a task begin its next attempt and writes what changes with that, where there is room for it and nobody is ahead.
 * False where there is not: then it is queued, and says for what.
 */
export async function takePlaces(
  ctx: Context,
  task: JobTask,
  attempt: TaskChange,
): Promise<boolean> {
  const freed: string[] = [];
  const queue = await ctx.batch(async (tx) => {
    const lacking = await findLacking(ctx, tx, task);
    if (lacking === undefined) {
      await setTask(tx, task.id, { ...attempt, ...dequeued });
      if (task.job.execution !== null) freed.push(...(await freeOthers(tx, task.job.id)));
    } else if (task.queuedFor !== lacking) await enqueue(ctx, tx, task, lacking);
    return lacking;
  });
  if (queue !== undefined) ctx.changes.notify(taskKey(task.id));
  // There may be room for the next one, too.
  else if (task.queuedFor !== null) await wakeQueued(ctx);
  for (const id of freed) void nudge(ctx, "managed_job", id);
  return queue === undefined;
}

/** What a move means for the places of a task. */
export const placesAfter = (to: JobTask["status"]): TaskChange =>
  to === "STARTING" ? dequeued : { ...dequeued, launchingAt: null };

/** Whether a move makes room for others; what has ended does so only once nothing of it is left. */
export const freesPlace = ({ launchingAt }: JobTask, to: JobTask["status"]): boolean =>
  to === "CANCELLED" || (launchingAt !== null && to !== "STARTING");

/** How many more jobs may be under way, or tasks be launched, regardless of the queues; exact only below `enough`. */
const roomIn: Readonly<
  Record<Queued, (ctx: Ground, db: Queries, enough: number) => Promise<number>>
> = {
  async job({ config: { managedJobsAtMost: most } }, db, enough) {
    // Of tasks there are at least as many as of jobs, and they are counted in a fifth of the time.
    const room = most - (await countBegunTasks(db));
    return room >= enough ? room : most - (await countBegun(db));
  },
  launch: async ({ config }, db) => config.jobLaunchesAtOnce - (await countLaunching(db)),
};

async function findLacking(
  ctx: Ground,
  tx: Connection,
  task: JobTask,
): Promise<Queued | undefined> {
  const { job, number } = task;
  const place = { rank: rankOf(job), jobId: job.id, number };
  const hasRoomOf = async (queue: Queued, enough: number) => {
    const room = await roomIn[queue](ctx, tx, enough);
    return room > 0 && (await countAhead(tx, { queue, ...place }, room)) < room;
  };
  const hasRoom = async (queue: Queued) =>
    (await hasRoomOf(queue, 1)) || (await hasRoomOf(queue, exactly));
  // Only a job with several tasks may have begun with another one.
  const isBegun = task.begunAt !== null || (job.execution !== null && (await hasBegun(tx, job.id)));
  if (!isBegun && !(await hasRoom("job"))) return "job";
  return task.launchingAt !== null || (await hasRoom("launch")) ? undefined : "launch";
}

async function enqueue(ctx: Ground, tx: Connection, task: JobTask, queue: Queued): Promise<void> {
  const waitsFor = placeReasons[queue](ctx.config);
  await setTask(tx, task.id, { queuedFor: queue, queuedRank: rankOf(task.job), waitsFor });
  await addEvent(tx, { noun: "managed_job", id: task.id, reason: waitsFor, at: ctx.now() });
}

/** Whether one more task may be launched now, regardless of the queues. */
export const hasRoomToLaunch = async (ctx: Ground, tx: Connection): Promise<boolean> =>
  (await roomIn.launch(ctx, tx, 1)) > 0;

/** A task is not being launched any more, or not now: others are. */
export async function endLaunch(ctx: Context, { id, launchingAt }: JobTask): Promise<undefined> {
  if (launchingAt === null) return;
  await ctx.batch((tx) => setTask(tx, id, { launchingAt: null }));
  await wakeQueued(ctx);
}

const waking = new WeakMap<Context, Promise<void>>();

/** Has the first tasks of each queue looked at for which there may be room: once for all who ask in a turn. */
export function wakeQueued(ctx: Context): Promise<void> {
  const known = waking.get(ctx);
  if (known !== undefined) return known;
  const done = setImmediate().then(() => {
    waking.delete(ctx);
    return wakeFirst(ctx);
  });
  waking.set(ctx, done);
  return done;
}

async function wakeFirst(ctx: Context): Promise<void> {
  for (const queue of queues) {
    const first = await listFirst(ctx.db, queue, wokenAtOnce);
    // Each that takes a place wakes others, so that there may be more room does not matter.
    const room = first.length === 0 ? 0 : Math.max(0, await roomIn[queue](ctx, ctx.db, 1));
    for (const id of first.slice(0, room)) void nudge(ctx, "managed_job", id);
  }
}

/** The first tasks of each queue, at most so many of each. */
export async function listNext(db: Queries, most: number): Promise<string[]> {
  return (await Promise.all(queues.map((queue) => listFirst(db, queue, most)))).flat();
}

/**
 * How many copies of a new job may begin at once, by queue, and what the others wait for: they are queued as they are
 * written, and nobody looks at them before it is their turn.
 */
export async function placesFor(
  ctx: Ground,
  tx: Connection,
  job: Pick<ManagedJob, "priority">,
): Promise<Room[]> {
  // It has no number yet, and gets the highest.
  const place = { rank: rankOf(job), jobId: Number.MAX_SAFE_INTEGER, number: 0 };
  const rooms: Room[] = [];
  for (const queue of queues) {
    const most = Math.max(0, await roomIn[queue](ctx, tx, exactly));
    const ahead = most === 0 ? 0 : await countAhead(tx, { queue, ...place }, most);
    const waitsFor = placeReasons[queue](ctx.config);
    rooms.push({
      room: most - ahead,
      waiting: { queuedFor: queue, queuedRank: place.rank, waitsFor },
    });
  }
  return rooms;
}
