import { randomUUID } from "node:crypto";
import { listTerminals, readBootId } from "../common/process-tree.ts";
import type { Autostop, Idle } from "../contract/agent-shapes.ts";
import { hookNameOf } from "../contract/hooks.ts";
import { type Agent, keys } from "./context.ts";
import { addEvent } from "./events.ts";
import { listLiveParts } from "./jobs/part-store.ts";
import { listActiveIds } from "./jobs/store.ts";
import { findSetting, putSetting, transaction } from "./journal.ts";
import { beginLifecycle, cancelLifecycle } from "./lifecycles/lifecycles.ts";
import { findOpenLifecycle, listUnsettled } from "./lifecycles/store.ts";
import { findNode } from "./node.ts";

/** How often terminals are looked for; jobs tell by themselves. */
const terminalsEveryMs = 5_000;
/** An `idleMs` of 0 gives a first job this long to come. */
const firstJobMs = 10_000;
/** It leaves this long after a job, so that whoever launched a short one can still read its log. */
const lastLookMs = 3_000;
const longestWaitMs = 3_600_000;
const retryMs = 10_000;
const minuteMs = 60_000;

/** The timer's memory. `activeAt` counts milliseconds since the boot with `bootId`. */
export interface Timer {
  readonly autostop: Autostop;
  readonly activeAt: number;
  readonly bootId: string;
  readonly hadJob: boolean;
  /** Whether something kept the node awake when it was last looked at. */
  readonly isBusy: boolean;
  /** Whether the node was turned off since; its time starts again once it is on. */
  readonly isOff?: boolean;
}

/** What keeps the node awake besides hooks, by what autostop waits for. */
const watched: Record<Autostop["waitFor"], (agent: Agent) => string[]> = {
  jobs_and_ssh: (agent) => [
    ...activeJobs(agent),
    ...(agent.shells.size > 0 ? ["shell"] : []),
    ...(listTerminals().length > 0 ? ["ssh"] : []),
  ],
  jobs: activeJobs,
  none: () => [],
};

/** Milliseconds until the node has been idle for long enough; undefined when it never will. Pure. */
function remainingMs(
  { autostop, activeAt, hadJob }: Pick<Timer, "autostop" | "activeAt" | "hadJob">,
  now: number,
): number | undefined {
  if (autostop.idleMs === null) return undefined;
  const leastMs = hadJob ? lastLookMs : firstJobMs;
  return Math.max(0, activeAt + (autostop.idleMs === 0 ? leastMs : autostop.idleMs) - now);
}

/** Sets the timer anew. */
export function setAutostop(agent: Agent, autostop: Autostop): Idle {
  putTimer(agent, { autostop, hadJob: false });
  agent.log.info(autostop, "autostop set");
  return readIdle(agent);
}

/** A job is submitted: the time starts again. */
export const countActivity = (agent: Agent): void => putTimer(agent, { hadJob: true });

/** A job ended: where jobs are waited for, the time starts now. */
export function countJobEnd(agent: Agent): void {
  if (getTimer(agent).autostop.waitFor !== "none") putTimer(agent, {});
}

/** The node turns itself off. Where it is a part of a machine that stays on, no boot tells of it. */
export const countTurnOff = (agent: Agent): void => putTimer(agent, { isOff: true });

/** What the timer sees now. A node that is about to go stops at no later time. */
export function readIdle(agent: Agent): Idle {
  const keptAliveBy = listKeepers(agent);
  const timer = note(agent, keptAliveBy.length > 0 || isLeaving(agent));
  const now = agent.monotonic();
  const left = timer.isBusy ? undefined : remainingMs(timer, now);
  return {
    ...timer.autostop,
    idleSince: keptAliveBy.length > 0 ? null : agent.now() - (now - timer.activeAt),
    stopsAt: left === undefined ? null : agent.now() + left,
    keptAliveBy,
  };
}

/** Begins to stop the node when it was idle for long enough, for as long as the agent lives. */
export function watchIdle(agent: Agent): Promise<never> {
  if (getTimer(agent).isOff) comeBack(agent);
  let timer: NodeJS.Timeout | undefined;
  const lookAgain = async (): Promise<undefined> => {
    clearTimeout(timer);
    timer = setTimeout(() => agent.changes.notify(keys.idle), tryCheck(agent)).unref();
  };
  return agent.changes.until<never>(keys.idle, lookAgain, agent.stopping);
}

/** The node is on again: what turned it off is done, also where no boot tells of it. */
function comeBack(agent: Agent): void {
  putTimer(agent, { isOff: false, hadJob: false });
  const open = findOpenLifecycle(agent);
  if (open?.cause === "idle" && open.status === "READY")
    cancelLifecycle(agent, open.id, "the node turned itself off");
}

/** A full disk must not end the agent while it leads hooks. */
function tryCheck(agent: Agent): number {
  try {
    return checkIdle(agent);
  } catch (error) {
    agent.log.warn({ error }, "the idle timer failed; trying again");
    return retryMs;
  }
}

/** Begins a lifecycle when the node's time has come; answers when to look again. */
export function checkIdle(agent: Agent): number {
  const { autostop } = getTimer(agent);
  if (autostop.idleMs === null) return longestWaitMs;
  const timer = note(agent, isLeaving(agent) || listKeepers(agent).length > 0);
  const pollMs = autostop.waitFor === "jobs_and_ssh" ? terminalsEveryMs : longestWaitMs;
  if (timer.isBusy) return pollMs;
  const left = remainingMs(timer, agent.monotonic()) ?? longestWaitMs;
  if (left > 0) return Math.min(left, pollMs);
  beginLifecycle(agent, {
    id: randomUUID(),
    event: autostop.down ? "down" : "stop",
    cause: "idle",
    because: idleFor(autostop.idleMs),
    deadlineAt: null,
    skipHooks: false,
  });
  return longestWaitMs;
}

const idleFor = (idleMs: number): string =>
  idleMs < minuteMs ? "idle" : `idle for ${Math.round(idleMs / minuteMs)} min`;

const isLeaving = (agent: Agent): boolean => findOpenLifecycle(agent) !== undefined;

/** What keeps the node awake. Looking for terminals takes milliseconds: ask only where it matters. */
const listKeepers = (agent: Agent): string[] => [
  ...watched[getTimer(agent).autostop.waitFor](agent),
  ...runningHooks(agent),
];

/**
 * Notes whether the node is busy. Where it was until now, the time starts now; so it does after a
 * lifecycle that was taken back.
 */
function note(agent: Agent, isBusy: boolean): Timer {
  const before = getTimer(agent);
  if (isBusy === before.isBusy) return before;
  const timer = { ...before, isBusy, activeAt: isBusy ? before.activeAt : agent.monotonic() };
  transaction(agent.journal, () => {
    putSetting(agent.journal, setting, timer);
    if (timer.autostop.idleMs === null) return;
    addEvent(agent, { kind: "idle", status: isBusy ? "BUSY" : "IDLE" });
  });
  return timer;
}

const setting = "idle";

/** The timer as it was left; after a boot its time starts again. */
function getTimer({ journal, monotonic }: Agent): Timer {
  const bootId = readBootId();
  const autostop = { idleMs: null, down: false, waitFor: "jobs_and_ssh" } as const;
  const fresh = { autostop, activeAt: monotonic(), bootId, hadJob: false, isBusy: false };
  const left = findSetting<Timer>(journal, setting) ?? fresh;
  return left.bootId === bootId ? left : { ...left, activeAt: 0, bootId };
}

/** Writes that something was done just now. */
function putTimer(agent: Agent, facts: Partial<Timer>): void {
  const timer = { ...getTimer(agent), activeAt: agent.monotonic(), ...facts };
  putSetting(agent.journal, setting, timer);
  agent.changes.notify(keys.idle);
}

/** The jobs that have not ended, as they are called: `job 3`. */
export function activeJobs({ journal }: Agent): string[] {
  const parts = listLiveParts(journal, findNode(journal)?.rank ?? 0).map(({ jobId }) => jobId);
  return [...new Set([...listActiveIds(journal), ...parts])].map((id) => `job ${id}`);
}

const runningHooks = (agent: Agent): string[] =>
  listUnsettled(agent).flatMap(({ runs, entries }) =>
    runs.filter(({ status }) => status === "RUNNING").map((run) => hookNameOf(run, entries.length)),
  );
