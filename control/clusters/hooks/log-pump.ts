import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { sizeOf } from "../../../common/growing-file.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { hookEvents } from "../../../contract/hooks.ts";
import { logOffsetHeader } from "../../../contract/job-log.ts";
import type { HookLog, Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { copyAll, copyStateOf, type OpenCopy, openCopy } from "../../log-copy.ts";
import type { Cluster } from "../schema.ts";
import { canNameFolder, copyFileOf, type HookLogName, hookLogKey } from "./log-copy.ts";

const retryMs = 300;
/** It is told once so many attempts have failed: after some two seconds. */
const lastingPauseMs = retryMs * 2 ** 3;
const longestPauseMs = retryMs * 2 ** 6;
/** Lifecycles of a node whose logs are copied, newest first. */
const atMost = 20;

/**
 * Copies what the hooks of a node write to control while they write it, so that it can be read once
 * the node is gone. Whoever was away goes on where the copy ends. Works until the signal aborts.
 */
export function openHookLogPump(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  signal: AbortSignal,
): HookLogPump {
  const tasks = openTasks((work) => insist(ctx, cluster, signal, work));

  async function copy(lifecycles: readonly Lifecycle[]): Promise<void> {
    for (const { name, log } of wantedOf(cluster, rank, lifecycles)) {
      const file = copyFileOf(ctx, name);
      if (!(await hasAll(file, log))) tasks.run(file, () => copyLog(ctx, cluster, name, signal));
    }
    // One that got more hooks to run is READY again after them.
    for (const { id, runs, logs, status } of lifecycles)
      if (status === "READY" && logs.length > 0)
        tasks.runOnce(`${id} after ${runs.length}`, () =>
          fetchHookLogs(ctx, cluster, rank, id, signal),
        );
  }

  return { copy, done: tasks.done };
}

/** Copies logs until its signal aborts. */
export interface HookLogPump {
  /** Has the logs of these lifecycles copied, which their node has told of; resolves before they are. */
  copy(told: readonly Lifecycle[]): Promise<void>;
  /** Resolves once everything ended, after the signal. */
  done(): Promise<void>;
}

/** What is on its way, by the file of a log or by a lifecycle that is ready to go. */
function openTasks(insist: (work: () => Promise<void>) => Promise<void>) {
  const underWay = new Map<string, Promise<void>>();
  const worked = new Set<string>();
  /** Does some work, unless the same is on its way. */
  function run(key: string, work: () => Promise<void>): void {
    if (underWay.has(key) || worked.has(key)) return;
    const working = insist(work);
    underWay.set(key, working);
    void working.then(() => underWay.delete(key));
  }
  return {
    run,
    /** As `run`, but never again once it worked. */
    runOnce: (key: string, work: () => Promise<void>) =>
      run(key, async () => {
        await work();
        worked.add(key);
      }),
    async done(): Promise<void> {
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Copies the logs of a lifecycle whose hooks are over, and tells the node so. Rejects when that
 * cannot be.
 */
export async function fetchHookLogs(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  lifecycleId: string,
  signal: AbortSignal,
): Promise<void> {
  const agent = ctx.agent(cluster, rank);
  const lifecycle = await agent.call(api.getLifecycle, { id: lifecycleId }, { signal });
  const names = wantedOf(cluster, rank, [lifecycle]).map(({ name }) => name);
  await Promise.all(names.map((name) => copyLog(ctx, cluster, name, signal)));
  await agent.call(api.confirmLogs, { id: lifecycleId }, { signal });
}

/** A log as its node tells of it. */
interface Wanted {
  readonly name: HookLogName;
  readonly log: HookLog;
}

function wantedOf(
  { id: clusterId }: Cluster,
  rank: number,
  lifecycles: readonly Lifecycle[],
): Wanted[] {
  return lifecycles
    .slice(0, atMost)
    .filter(({ id }) => canNameFolder(id))
    .flatMap(({ id, logs }) => logs.map((log) => ({ lifecycleId: id, log })))
    .filter(({ log }) => hookEvents.includes(log.event))
    .map(({ lifecycleId, log }) => {
      const { event } = log;
      return { log, name: { clusterId, lifecycleId, event, rank } };
    });
}

/** Whether nothing of a log is missing; one that was over may have begun again. */
async function hasAll(file: string, { sizeBytes, isOver }: HookLog): Promise<boolean> {
  return isOver && (await copyStateOf(file)).isWhole && (await sizeOf(file)) >= sizeBytes;
}

/**
 * Tries ever less often until it works, until the signal aborts, or until the node says that it has no such
 * thing. What keeps failing is told once.
 */
async function insist(
  ctx: Ground,
  cluster: Cluster,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  for (let pauseMs = retryMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await work();
    } catch (err) {
      if (signal.aborted) return;
      const isLasting = pauseMs === lastingPauseMs;
      if (isLasting) ctx.log.warn({ err, clusterId: cluster.id }, "hook log not copied yet");
      else tell(ctx, cluster, err);
      if (err instanceof AppError && err.type === "NotFoundError") return;
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

const tell = (ctx: Ground, { id: clusterId }: Cluster, err: unknown): void =>
  ctx.log.debug({ err, clusterId }, "hook log not copied");

/** Copies one log until nothing more can come. */
async function copyLog(
  ctx: Context,
  cluster: Cluster,
  name: HookLogName,
  signal: AbortSignal,
): Promise<void> {
  const agent = ctx.agent(cluster, name.rank);
  await using copy = await openCopy(copyFileOf(ctx, name), {
    stays: (why) => warnOfDisk(ctx, why),
  });
  for (;;) {
    const { logs } = await agent.call(api.getLifecycle, { id: name.lifecycleId }, { signal });
    const log = logs.find(({ event }) => event === name.event);
    if (log === undefined) fail("NotFoundError", `node ${name.rank} has no ${name.event} log`);
    if (log.isOver && copy.size >= log.sizeBytes) break;
    if (!(await copyOn(ctx, cluster, name, copy, signal)))
      await sleep(retryMs, undefined, { signal });
  }
  await copy.finish();
  ctx.changes.notify(hookLogKey(name.clusterId));
}

/** What runs `control` is told once: the next log meets the same. */
function warnOfDisk(ctx: Ground, err: unknown): void {
  if (warned.has(ctx.log)) return;
  warned.add(ctx.log);
  ctx.log.warn({ err }, "long hook logs are not shortened: fallocate cannot punch holes here");
}
const warned = new WeakSet<Context["log"]>();

/** Copies from where the copy ends to where the node's answer does; false when nothing came. */
async function copyOn(
  ctx: Context,
  cluster: Cluster,
  { clusterId, lifecycleId: id, event, rank }: HookLogName,
  copy: OpenCopy,
  signal: AbortSignal,
): Promise<boolean> {
  const from = { id, event, offset: copy.size, follow: "true" };
  const { headers, body } = await ctx.agent(cluster, rank).open(api.readHookLog, from, signal);
  const start = Number(headers[logOffsetHeader] ?? copy.size);
  if (!(start >= copy.size)) fail("ValueError", `node ${rank} went back in its ${event} log`);
  return copyAll(copy, start, body, () => ctx.changes.notify(hookLogKey(clusterId)));
}
