import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ifMissing, replaceFile } from "../../common/files.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import { jobLogGap, logOffsetHeader, logSizeHeader } from "../../contract/job-log.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { openSilence, type Silence } from "../doors/silence.ts";
import type { Ground } from "../ground.ts";
import { copyAll, copyStateOf, type OpenCopy, openCopy } from "../log-copy.ts";
import { attemptLogOf, taskFolder } from "./folders.ts";
import { type Growing, openWorks, type Work } from "./log-works.ts";
import { type JobLogs, type JobTask, taskKey } from "./schema.ts";

const megabyte = 2 ** 20;
const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A node belongs to its user, and may tell of growth as often as it likes. */
const betweenReadsMs = 500;
/** How long a node may take to end a job. */
export const patienceMs = 60_000;
/** How long it may send nothing of the rest of the job's log. */
export const silentMs = 15_000;

const keyOf = (clusterId: string | null, jobId: number | null): string => `${clusterId}/${jobId}`;

/** Copies nothing yet. */
export function openJobLogs(world: () => Context): JobLogs {
  const growing = new Map<string, Growing>();
  const works = openWorks();

  function growingOf({ id: taskId, attempt, clusterId, clusterJob }: JobTask): Growing {
    const known = growing.get(keyOf(clusterId, clusterJob));
    const file = attemptLogOf(world(), taskId, attempt);
    const of = { clusterId: clusterId ?? "", jobId: clusterJob ?? 0 };
    return known ?? { taskId, file, ...of, isBehind: false, isWhole: false };
  }

  /** Has a log read to its present end, unless that is under way; the next read comes after a pause. */
  function read(log: Growing, pauseMs: number): void {
    log.isBehind = true;
    if (works.now(log) !== undefined) return;
    works.begin(log, false, (signal) => catchUp(log, pauseMs, signal));
  }

  async function catchUp(log: Growing, afterFirstMs: number, signal: AbortSignal): Promise<void> {
    for (let pauseMs = afterFirstMs; log.isBehind; pauseMs = betweenReadsMs) {
      log.isBehind = false;
      await insist(world(), log, signal, async (ctx, head) => {
        if (!(await readOnce(ctx, log, head, signal))) follow(log).users += 1;
      });
      await sleep(pauseMs, undefined, { signal });
    }
  }

  function follow(log: Growing): Work {
    const now = works.now(log);
    if (now?.isFollow) return now;
    return works.begin(log, true, (signal) =>
      copyToEnd(world(), log, { isOver: false, heard: () => {}, signal }),
    );
  }

  return {
    keep(task) {
      const log = growingOf(task);
      growing.set(keyOf(task.clusterId, task.clusterJob), log);
      // The first lines come just after a job has begun.
      read(log, 0);
    },
    grew({ id }, jobId) {
      const log = growing.get(keyOf(id, jobId));
      if (log !== undefined) read(log, betweenReadsMs);
    },
    follow(task) {
      const log = growingOf(task);
      const work = follow(log);
      work.users += 1;
      return {
        [Symbol.dispose]() {
          work.users -= 1;
          if (work.users > 0 || works.now(log) !== work) return;
          work.abort.abort();
          if (growing.has(keyOf(task.clusterId, task.clusterJob))) read(log, 0);
        },
      };
    },
    async whole(task, { silentMs, isOver }, signal) {
      const log = growingOf(task);
      growing.set(keyOf(task.clusterId, task.clusterJob), log);
      using silence = openSilence(silentMs, signal);
      // A connection that was cut may stay silent for long although its node answers by now.
      const work = works.begin(log, true, (ended) => {
        const until = AbortSignal.any([ended, silence.signal]);
        return copyToEnd(world(), log, { isOver, heard: silence.heard, signal: until });
      });
      work.users += 1;
      await work.done;
    },
    async drop(task) {
      const log = growingOf(task);
      growing.delete(keyOf(task.clusterId, task.clusterJob));
      await works.end(log);
      await noteRest(world(), task, log);
    },
    rest: (clusterId, head, signal) => copyRest(world(), clusterId, head, signal),
    stop: works.endAll,
  };
}

/** Tries ever less often, until it works or the cluster is not wanted any more. Rejects on abort. */
async function insist(
  ctx: Context,
  { taskId, clusterId }: Growing,
  signal: AbortSignal,
  work: (ctx: Context, head: Agent) => Promise<void>,
): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const cluster = await findCluster(ctx.db, clusterId);
    if (cluster === undefined || cluster.wanted !== "UP") return;
    try {
      return await work(ctx, ctx.agent(cluster, 0));
    } catch (err) {
      signal.throwIfAborted();
      ctx.log.debug({ err, taskId }, "log of a managed job not copied");
    }
    await sleep(pauseMs, undefined, { signal });
  }
}

/** Copies what there is by now; returns whether the agent tells when there is more, which older ones do not. */
async function readOnce(
  ctx: Context,
  log: Growing,
  head: Agent,
  signal: AbortSignal,
): Promise<boolean> {
  using silence = openSilence(silentMs, signal);
  await using copy = await openLogCopy(ctx, log);
  for (;;) {
    const { isMore, sizeBytes } = await copyOn(ctx, log, copy, head, false, silence);
    if (sizeBytes === undefined) return false;
    // An answer ends where the node left bytes out.
    if (!isMore || !(copy.size < sizeBytes)) return true;
  }
}

/** Copies until the job has ended and all of its log is here; goes on where it was left, while its cluster stays. */
const copyToEnd = (ctx: Context, log: Growing, ending: Ending): Promise<void> =>
  insist(ctx, log, ending.signal, (_, head) => copyWhole(ctx, log, head, ending));

/** How a log is copied to its end. */
interface Ending extends Pick<Silence, "heard" | "signal"> {
  /** Whether its job is known to have ended. */
  readonly isOver: boolean;
}

async function copyWhole(ctx: Context, log: Growing, head: Agent, ending: Ending): Promise<void> {
  const { isOver, signal } = ending;
  await using copy = await openLogCopy(ctx, log);
  while (!copy.isWhole) {
    const isFinal =
      isOver ||
      jobMachine.isFinal((await head.call(api.getJob, { id: log.jobId }, { signal })).status);
    // A log ends where its node left bytes out, and goes on behind them when it is read again.
    const { isMore, sizeBytes = Number.POSITIVE_INFINITY } = await copyOn(
      ctx,
      log,
      copy,
      head,
      true,
      ending,
    );
    if (isFinal && (!isMore || copy.size >= sizeBytes)) await copy.finish();
  }
  log.isWhole = true;
  ctx.changes.notify(taskKey(log.taskId));
}

function openLogCopy({ config }: Ground, { file }: Growing): Promise<OpenCopy> {
  const most = config.jobLogMegabytes * megabyte;
  return openCopy(file, { gapOf: (sizeBytes) => jobLogGap(sizeBytes, most) });
}

async function copyOn(
  ctx: Context,
  { taskId, jobId: id }: Growing,
  copy: OpenCopy,
  head: Agent,
  follow: boolean,
  { heard, signal }: Pick<Silence, "heard" | "signal">,
) {
  const log = { id, offset: copy.size, follow: `${follow}` } as const;
  const { headers, body } = await head.open(api.readLog, log, signal);
  const start = Number(headers[logOffsetHeader] ?? copy.size);
  const isMore = await copyAll(copy, start, body, () => {
    heard();
    ctx.changes.notify(taskKey(taskId));
  });
  const size = headers[logSizeHeader];
  return { isMore, sizeBytes: size === undefined ? undefined : Number(size) };
}

/** Which job on which cluster the rest of a log is of, which could not be copied. */
interface Rest {
  readonly clusterId: string;
  readonly jobId: number;
}

const restOf = (file: string): string => file.replace(/log$/, "rest");

/** Notes where the rest of a log lies. */
async function noteRest(ctx: Ground, task: JobTask, { file, isWhole }: Growing): Promise<void> {
  const { clusterId, clusterJob: jobId, poolId } = task;
  if (isWhole || clusterId === null || jobId === null || poolId !== null) return;
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
    const options = { signal, timeoutMs: patienceMs };
    const { status } = await head.call(api.cancelJob, { id: jobId }, options);
    const file = rest.replace(/rest$/, "log");
    using silence = openSilence(silentMs, signal);
    const log = { taskId: madeFor.id, file, clusterId, jobId, isBehind: false, isWhole: false };
    const isOver = jobMachine.isFinal(status);
    const { heard, signal: until } = silence;
    await copyWhole(ctx, log, head, { isOver, heard, signal: until });
    await rm(rest);
  }
}
