import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fail } from "../../common/errors.ts";
import { ifMissing, replaceFile } from "../../common/files.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import { jobLogGap, logOffsetHeader } from "../../contract/job-log.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { openSilence } from "../doors/silence.ts";
import type { Ground } from "../ground.ts";
import { copyAll, copyStateOf, openCopy } from "../log-copy.ts";
import { attemptLogOf, taskFolder } from "./folders.ts";
import { type JobLogs, type JobTask, taskKey } from "./schema.ts";

const megabyte = 2 ** 20;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** How long a node may take to end a job. */
export const patienceMs = 60_000;
/** How long it may send nothing of the rest of the job's log. */
export const silentMs = 15_000;

interface Copying {
  readonly abort: AbortController;
  readonly done: Promise<void>;
  /** Told of every piece that comes. */
  readonly listeners: Set<() => void>;
}

/** Copies nothing yet. */
export function openJobLogs(world: () => Context): JobLogs {
  const underWay = new Map<string, Copying>();

  function begin(task: JobTask): Copying {
    const file = attemptLogOf(world(), task.id, task.attempt);
    const known = underWay.get(file);
    if (known !== undefined) return known;
    const abort = new AbortController();
    const listeners = new Set<() => void>();
    const heard = () => {
      for (const listener of listeners) listener();
    };
    const done = copyToEnd(world(), task, { file, heard }, abort.signal).finally(() =>
      underWay.delete(file),
    );
    const copying = { abort, done, listeners };
    underWay.set(file, copying);
    // `whole` passes the error on; here it must only not count as unhandled.
    done.catch(() => {});
    return copying;
  }

  async function end({ abort, done }: Copying): Promise<void> {
    abort.abort();
    await done.catch(() => {});
  }

  /** Whether a copy is over before nothing has come for so long. Rejects on abort. */
  async function isOverWithin(
    silentMs: number,
    { done, listeners }: Copying,
    signal: AbortSignal,
  ): Promise<boolean> {
    using silence = openSilence(silentMs, signal);
    const { promise: late, resolve } = Promise.withResolvers<false>();
    const stop = () => resolve(false);
    silence.signal.addEventListener("abort", stop, { once: true });
    listeners.add(silence.heard);
    const isOver = await Promise.race([done.then(() => true), late]).finally(() => {
      listeners.delete(silence.heard);
      silence.signal.removeEventListener("abort", stop);
    });
    signal.throwIfAborted();
    return isOver;
  }

  return {
    keep: (task) => void begin(task),
    async whole(task, silentMs, signal) {
      const first = begin(task);
      if (await isOverWithin(silentMs / 3, first, signal)) return;
      // A connection that was cut may stay silent for long although its node answers by now.
      await end(first);
      if (await isOverWithin(silentMs, begin(task), signal)) return;
      fail("UnreachableError", `no data was received for ${silentMs / 1_000} s`);
    },
    async drop(task) {
      const file = attemptLogOf(world(), task.id, task.attempt);
      const copying = underWay.get(file);
      if (copying !== undefined) await end(copying);
      await noteRest(world(), task, file);
    },
    rest: (clusterId, head, signal) => copyRest(world(), clusterId, head, signal),
    async stop() {
      await Promise.all([...underWay.values()].map(end));
    },
  };
}

/** Where a copy is, and what is to be told of every piece that comes. */
interface Copy {
  readonly file: string;
  heard(): void;
}

/** Copies until the job has ended and all of its log is here; goes on where it was left, while its cluster stays. */
async function copyToEnd(
  ctx: Context,
  task: JobTask,
  copy: Copy,
  signal: AbortSignal,
): Promise<void> {
  if ((await copyStateOf(copy.file)).isWhole) return;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const cluster = await findCluster(ctx.db, task.clusterId ?? "");
    if (cluster === undefined || cluster.wanted !== "UP") return;
    try {
      const job = { id: task.id, jobId: task.clusterJob ?? 0 };
      await copyOn(ctx, job, ctx.agent(cluster, 0), copy, signal);
      return;
    } catch (err) {
      signal.throwIfAborted();
      ctx.log.debug({ err, taskId: task.id }, "log of a managed job not copied");
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

async function copyOn(
  ctx: Context,
  { id: taskId, jobId: id }: { readonly id: string; readonly jobId: number },
  head: Agent,
  { file, heard }: Copy,
  signal: AbortSignal,
): Promise<void> {
  const most = ctx.config.jobLogMegabytes * megabyte;
  await using copy = await openCopy(file, { gapOf: (sizeBytes) => jobLogGap(sizeBytes, most) });
  for (;;) {
    const { status } = await head.call(api.getJob, { id }, { signal });
    const log = { id, offset: copy.size, follow: "true" } as const;
    const { headers, body } = await head.open(api.readLog, log, signal);
    const start = Number(headers[logOffsetHeader] ?? copy.size);
    const notify = () => {
      heard();
      ctx.changes.notify(taskKey(taskId));
    };
    // A log ends where its node left bytes out, and goes on behind them when it is read again.
    const isMore = await copyAll(copy, start, body, notify);
    if (jobMachine.isFinal(status) && !isMore) break;
  }
  await copy.finish();
  ctx.changes.notify(taskKey(taskId));
}

/** Which job on which cluster the rest of a log is of, which could not be copied. */
interface Rest {
  readonly clusterId: string;
  readonly jobId: number;
}

const restOf = (file: string): string => file.replace(/log$/, "rest");

/** Notes where the rest of a log lies. */
async function noteRest(ctx: Ground, task: JobTask, file: string): Promise<void> {
  const { clusterId, clusterJob: jobId, poolId } = task;
  if (clusterId === null || jobId === null || poolId !== null) return;
  if ((await copyStateOf(file)).isWhole) return;
  const rest: Rest = { clusterId, jobId };
  try {
    replaceFile(restOf(file), JSON.stringify(rest));
  } catch (err) {
    ctx.log.warn({ err, taskId: task.id }, "the rest of a log will not be fetched");
  }
}

/** Ends what an attempt that was lost with this cluster still runs, and copies the rest of its log. */
async function copyRest(
  ctx: Context,
  clusterId: string,
  head: Agent,
  signal: AbortSignal,
): Promise<void> {
  const { madeFor } = (await findCluster(ctx.db, clusterId)) ?? {};
  if (madeFor?.noun !== "managed_job") return;
  const folder = taskFolder(ctx, madeFor.id);
  const names = await readdir(folder).catch(ifMissing([]));
  for (const name of names.filter((one) => one.endsWith(".rest"))) {
    const rest = join(folder, name);
    const { clusterId: of, jobId }: Rest = JSON.parse(await readFile(rest, "utf8"));
    if (of !== clusterId) continue;
    await head.call(api.cancelJob, { id: jobId }, { signal, timeoutMs: patienceMs });
    const file = rest.replace(/rest$/, "log");
    using silence = openSilence(silentMs, signal);
    const copy = { file, heard: silence.heard };
    await copyOn(ctx, { id: madeFor.id, jobId }, head, copy, silence.signal);
    await rm(rest);
  }
}
