import { readBootId } from "../../common/process-tree.ts";
import { type HookEvent, hookNameOf } from "../../contract/hooks.ts";
import type { Agent } from "../context.ts";
import { takeLifecycleFolder } from "../folders.ts";
import { getRow, writeLifecycle } from "../lifecycles/lifecycles.ts";
import type { LifecycleRow, Run } from "../lifecycles/row.ts";
import { countLeft, type HookEnd } from "./hooks.ts";
import { appendHookLine, beginHookLog, hookLogOf, sizeOfHookLog, writeSideFile } from "./logs.ts";
import { findTail } from "./tail.ts";

/** What the line about a hook says by how it ended; those that are not named are no warnings. */
const verbs: Partial<Record<Run["status"], string>> = {
  FAILED: "failed",
  TIMED_OUT: "timed out",
  INTERRUPTED: "was interrupted",
  SKIPPED: "was skipped",
};

/** What somebody who only learns of the end may want to see the last lines of. */
const hasTail: readonly Run["status"][] = ["FAILED", "TIMED_OUT"];

/** Writes that a hook begins, with at most so much time; from here on it never begins again. */
export function beginRun(
  agent: Agent,
  id: string,
  { index, event }: Pick<Run, "index" | "event">,
  timeMs: number,
): void {
  attempt(agent, id, () => takeLifecycleFolder(agent, id, index));
  const row = withLog(agent, getRow(agent, id), event);
  const run: Run = {
    ...{ index, event, status: "RUNNING", exitCode: null, reason: null, endedAt: null },
    startedAt: agent.now(),
    timeoutSeconds: timeMs / 1000,
    startedMs: agent.monotonic(),
    ending: null,
    logFrom: sizeOfHookLog(agent, row, event),
  };
  agent.log.info(
    { lifecycle: id, hook: index, event, timeoutSeconds: timeMs / 1000 },
    "hook begun",
  );
  tell(agent, { ...row, runs: [...row.runs, run] }, run);
}

/** Writes how a hook ended: in the event's log where it is a warning, in ours, and as an event. */
export function endRun(agent: Agent, id: string, index: number, end: HookEnd): void {
  const row = getRow(agent, id);
  const before = row.runs.find((run) => run.index === index);
  if (before === undefined) return;
  const tail = hasTail.includes(end.status)
    ? attempt(agent, id, () => findTail(agent, row, before))
    : undefined;
  const run: Run = {
    ...{ ...before, ...end, ending: null, endedAt: endInstant(agent, row, before) },
    ...(tail === undefined ? {} : { tail }),
  };
  warn(agent, row, run);
  attempt(agent, id, () => noteLeft(agent, row, run));
  tell(agent, { ...row, runs: row.runs.map((one) => (one === before ? run : one)) }, run);
}

/** By the clock that nobody sets, as long as that has not begun anew: what a run took stays true. */
function endInstant(agent: Agent, { bootId }: LifecycleRow, { startedAt, startedMs }: Run): number {
  const now = agent.now();
  if (startedAt === null) return now;
  if (startedMs === null || bootId !== readBootId()) return Math.max(startedAt, now);
  return Math.round(startedAt + agent.monotonic() - startedMs);
}

function noteLeft(agent: Agent, row: LifecycleRow, run: Run): void {
  const left = countLeft(agent, row.id, run.index);
  const what = left === 1 ? "1 process" : `${left} processes`;
  if (left > 0) addLine(agent, row, run, `left ${what} running`);
}

const addLine = (agent: Agent, row: LifecycleRow, run: Run, text: string): void =>
  appendHookLine(hookLogOf(agent, row.id, run.event), hookNameOf(run, row.entries.length), text);

/** Writes that a hook will not run, and why. */
export function skipRun(
  agent: Agent,
  id: string,
  { index, event, reason }: { index: number; event: HookEvent; reason: string },
): void {
  const row = withLog(agent, getRow(agent, id), event);
  const run: Run = {
    ...{ index, event, reason, status: "SKIPPED", exitCode: null, timeoutSeconds: null },
    ...{ startedAt: null, startedMs: null, ending: null, endedAt: agent.now() },
    logFrom: sizeOfHookLog(agent, row, event),
  };
  warn(agent, row, run);
  tell(agent, { ...row, runs: [...row.runs, run] }, run);
}

/** The line comes first: a hook whose end is written down has one. */
function warn(agent: Agent, row: LifecycleRow, run: Run): void {
  const { id } = row;
  const { index, event, status, exitCode, reason, startedAt, endedAt } = run;
  const verb = verbs[status];
  const tookMs = startedAt === null || endedAt === null ? undefined : endedAt - startedAt;
  const facts = { lifecycle: id, hook: index, event, status, exitCode, reason, tookMs };
  agent.log[verb === undefined ? "info" : "warn"](facts, `hook ${verb ?? "succeeded"}`);
  if (verb === undefined) return;
  const took = tookMs === undefined ? "" : ` after ${(tookMs / 1000).toFixed(1)} s`;
  const code = status === "TIMED_OUT" ? ` (code ${exitCode})` : "";
  attempt(agent, id, () => addLine(agent, row, run, `${verb}${took}${code}: ${reason}`));
}

function tell(agent: Agent, row: LifecycleRow, run: Run): void {
  writeLifecycle(agent, row, [run.status]);
  attempt(agent, row.id, () => writeSideFile(agent, row, run.event));
}

/** Begins the event's log when the lifecycle has none yet. */
function withLog(agent: Agent, row: LifecycleRow, event: HookEvent): LifecycleRow {
  if (row.logs.some((log) => log.event === event)) return row;
  attempt(agent, row.id, () => beginHookLog(agent, row, event));
  return { ...row, logs: [...row.logs, { event, sizeBytes: null }] };
}

/** A full disk stops no hook. */
function attempt<T>({ log }: Agent, id: string, write: () => T): T | undefined {
  try {
    return write();
  } catch (error) {
    log.warn({ lifecycle: id, error }, "recording a hook failed; continuing");
  }
}
