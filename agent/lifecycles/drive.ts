import { rmSync } from "node:fs";
import { readBootId } from "../../common/process-tree.ts";
import { type Agent, keys } from "../context.ts";
import { untilHeard } from "../events.ts";
import { lifecycleFolderOf, makeSpareFolder } from "../folders.ts";
import { endHook, forgoHook, leadHook } from "../hooks/hooks.ts";
import { closeLogs, keepLogsSmall } from "../hooks/log-size.ts";
import { beginRun, endRun, skipRun } from "../hooks/results.ts";
import { endMounts } from "../mounts/mounts.ts";
import { untilDue } from "../timer.ts";
import { endJobs, endJobsAtLast, untilReleased } from "./jobs.ts";
import { afterReboot, nextEntry, passedOver } from "./lifecycle.ts";
import { getRow, momentOf, moveLifecycle, writeLifecycle } from "./lifecycles.ts";
import type { LifecycleRow } from "./row.ts";
import {
  dropLifecycle,
  findLifecycle,
  keptLifecycles,
  listLifecycleRows,
  listUnsettled,
} from "./store.ts";
import { graceOf, noShowAtMs, timeOf, writingEndMs } from "./time.ts";

/** Hooks of a preemption wait no longer for somebody who reads events slowly. */
const tellingMs = 500;

/**
 * Leads a lifecycle from where the journal has it: its hooks one after another, the end of the jobs,
 * and READY until somebody says what became of it. Resolves once it needs nobody any more.
 */
export async function driveLifecycle(agent: Agent, id: string): Promise<void> {
  const found = findLifecycle(agent, id);
  // A node that was given to another cluster has forgotten it.
  if (found === undefined) return;
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  takeOver(agent, found);
  for (const beside of [keepLogsSmall, endJobsAtLast])
    beside(agent, id, signal).catch((error) => {
      if (!signal.aborted) agent.log.warn({ lifecycle: id, error }, `${beside.name} failed`);
    });
  try {
    while (!(findLifecycle(agent, id)?.isSettled ?? true)) await step(agent, getRow(agent, id));
  } finally {
    over.abort();
  }
}

/** What another boot left is not what it was. */
function takeOver(agent: Agent, before: LifecycleRow): void {
  const { id, bootId } = before;
  if (bootId !== readBootId())
    for (const { index, status } of before.runs)
      if (status === "RUNNING") forgoHook(agent, id, index, bootId);
  const row = afterReboot(before, readBootId(), momentOf(agent));
  if (row.status !== before.status) moveLifecycle(agent, row, "the machine was rebooted");
  else if (row !== before) writeLifecycle(agent, row);
}

async function step(agent: Agent, row: LifecycleRow): Promise<void> {
  const { id, status, endedAt } = row;
  const running = row.runs.find((run) => run.status === "RUNNING");
  if (running !== undefined)
    return endRun(agent, id, running.index, await leadHook(agent, id, running.index));
  if (endedAt !== null) return settle(agent, id);
  if (status === "HOOKS" && isHookLeft(agent)) return untilAlone(agent, id);
  if (status === "HOOKS") return beginOnceTold(agent, row);
  if (status === "JOBS") return endWork(agent, row);
  return untilLeft(agent, id);
}

/** Whether a lifecycle that was taken back has its last hook still running. */
const isHookLeft = (agent: Agent): boolean =>
  listUnsettled(agent).some(
    ({ endedAt, runs }) => endedAt !== null && runs.some(({ status }) => status === "RUNNING"),
  );

/** Scripts of two lifecycles, perhaps the same one twice, would be in each other's way. */
async function untilAlone(agent: Agent, id: string): Promise<void> {
  agent.log.info({ lifecycle: id }, "waiting for the last hook of the lifecycle before");
  const look = async () => getRow(agent, id).status !== "HOOKS" || !isHookLeft(agent) || undefined;
  await agent.changes.until(keys.lifecycle, look, agent.stopping);
}

/** A preemption that others know of while it still has all its time is worth more to them. */
async function beginOnceTold(agent: Agent, { id, events, runs }: LifecycleRow): Promise<void> {
  const isTold = !events.includes("preemption") || runs.some(({ event }) => event === "preemption");
  if (!isTold && !(await untilHeard(agent, tellingMs)))
    agent.log.warn({ lifecycle: id }, "a reader of events is slow; continuing");
  const row = getRow(agent, id);
  if (row.status === "HOOKS") beginNext(agent, row);
}

function beginNext(agent: Agent, row: LifecycleRow): void {
  const next = nextEntry(row);
  const entry = next && row.entries[next.index];
  if (next === undefined || entry === undefined) {
    skipRest(agent, row);
    moveLifecycle(agent, { ...getRow(agent, row.id), status: "JOBS" });
    return;
  }
  const timeMs = timeOf(row, entry, agent.monotonic());
  const reason = "no time is left until the node goes";
  if (timeMs === undefined) skipRun(agent, row.id, { ...next, reason });
  else beginRun(agent, row.id, next, timeMs);
}

function skipRest(agent: Agent, row: LifecycleRow): void {
  for (const passed of passedOver(row)) skipRun(agent, row.id, passed);
}

async function endWork(agent: Agent, { id }: LifecycleRow): Promise<void> {
  await untilReleased(agent, id);
  if (getRow(agent, id).status !== "JOBS") return;
  await endJobs(agent, id);
  await endLeft(agent, getRow(agent, id));
  await leaveBuckets(agent, id);
  if (getRow(agent, id).status !== "JOBS") return;
  await closeLogs(agent, id);
  const row = getRow(agent, id);
  if (row.status === "JOBS") moveLifecycle(agent, { ...row, status: "READY" });
}

/** What jobs and hooks wrote to buckets is there before the node goes, unless that takes too long. */
async function leaveBuckets(agent: Agent, id: string): Promise<void> {
  const beganMs = agent.monotonic();
  const over = new AbortController();
  const until = AbortSignal.any([over.signal, agent.stopping]);
  const endMs = () => writingEndMs(getRow(agent, id), beganMs);
  untilDue(agent, keys.lifecycle, endMs, until).then(
    () => over.abort(),
    () => {},
  );
  await endMounts(agent, until).finally(() => over.abort());
}

/** What hooks left in the background ends with the lifecycle, as what a job left ends with the job. */
async function endLeft(agent: Agent, row: LifecycleRow): Promise<void> {
  const graceMs = graceOf(row, agent.monotonic());
  const ends = row.runs
    .filter(({ startedAt }) => startedAt !== null)
    .map(({ index }) => endHook(agent, row.id, index, graceMs));
  const left = (await Promise.all(ends)).flat();
  if (left.length > 0) agent.log.warn({ lifecycle: row.id, left }, "processes of hooks remain");
}

/** Waits at READY. A notice after which nothing comes was a false one. */
async function untilLeft(agent: Agent, id: string): Promise<void> {
  const atMs = () => {
    const row = getRow(agent, id);
    return row.status === "READY" ? noShowAtMs(row) : Number.NEGATIVE_INFINITY;
  };
  await untilDue(agent, keys.lifecycle, atMs, agent.stopping);
  const row = getRow(agent, id);
  if (row.status !== "READY") return;
  moveLifecycle(agent, { ...row, status: "CANCELLED" }, "the node was not taken away");
}

/** Leaves a lifecycle that has ended, and forgets those of long ago. */
async function settle(agent: Agent, id: string): Promise<void> {
  skipRest(agent, getRow(agent, id));
  await endLeft(agent, getRow(agent, id));
  await closeLogs(agent, id);
  const row = getRow(agent, id);
  writeLifecycle(agent, { ...row, isSettled: true });
  for (const old of listLifecycleRows(agent).slice(keptLifecycles))
    if (old.isSettled) {
      dropLifecycle(agent, old.id);
      rmSync(lifecycleFolderOf(agent, old.id), { recursive: true, force: true });
    }
  makeSpareFolder(agent, row.entries.length);
}
