import { fail } from "../common/errors.ts";
import { listTerminals, readBootId } from "../common/process-tree.ts";
import type { Autostop, Idle } from "../contract/agent-shapes.ts";
import { type Agent, keys } from "./context.ts";
import { addEvent } from "./events.ts";
import { listActiveIds } from "./job-store.ts";
import { findSetting, type Journal, putSetting, transaction } from "./journal.ts";
import { findNode } from "./node.ts";
import { listLiveParts } from "./part-store.ts";

/** How often terminals are looked for; jobs tell by themselves. */
const terminalsEveryMs = 5_000;
/** An `idleMs` of 0 gives a first job this long to come. */
const firstJobMs = 10_000;
/** It leaves this long after a job, so that whoever launched a short one can still read its log. */
const lastLookMs = 3_000;
const longestWaitMs = 3_600_000;

/** The timer's memory. `activeAt` counts milliseconds since the boot with `bootId`. */
export interface Timer {
  readonly autostop: Autostop;
  readonly activeAt: number;
  readonly bootId: string;
  readonly hadJob: boolean;
  readonly due: boolean;
  /** Whether somebody is about to stop the node, so that no job may come any more. */
  readonly claimed: boolean;
}

/** What keeps the node awake, by what autostop waits for. */
const watched: Record<Autostop["waitFor"], (journal: Journal) => string[]> = {
  jobs_and_ssh: (journal) => [
    ...activeJobs(journal),
    ...(listTerminals().length > 0 ? ["ssh"] : []),
  ],
  jobs: activeJobs,
  none: () => [],
};

/** Milliseconds until the node has been idle for long enough; undefined when it never will. Pure. */
export function remainingMs(
  { autostop, activeAt, hadJob }: Timer,
  now: number,
): number | undefined {
  if (autostop.idleMs === null) return undefined;
  const leastMs = hadJob ? lastLookMs : firstJobMs;
  return Math.max(0, activeAt + (autostop.idleMs === 0 ? leastMs : autostop.idleMs) - now);
}

/** Sets the timer anew. */
export function setAutostop(agent: Agent, autostop: Autostop): Idle {
  putTimer(agent, { autostop, hadJob: false, due: false, claimed: false });
  agent.log.info(autostop, "autostop set");
  return readIdle(agent);
}

/**
 * A job is submitted: the time starts again, and what was due no longer is. Throws `ConflictError`
 * when somebody is about to stop the node.
 */
export function countActivity(agent: Agent): void {
  if (getTimer(agent).claimed)
    fail("ConflictError", "the node is about to stop, as it was idle; start its cluster again");
  putTimer(agent, { hadJob: true, due: false });
}

/** Lets nobody submit a job to a node that is due: whoever claims it will stop it. */
export function claimIdle(agent: Agent): Idle {
  const timer = getTimer(agent);
  if (timer.due) putSetting(agent.journal, setting, { ...timer, claimed: true });
  return readIdle(agent);
}

/** Takes a claim back: the node goes on. */
export function dropClaim(agent: Agent): void {
  const timer = getTimer(agent);
  if (timer.claimed) putSetting(agent.journal, setting, { ...timer, claimed: false });
}

/** A job ended: where jobs are waited for, the time starts now. */
export function countJobEnd(agent: Agent): void {
  if (getTimer(agent).autostop.waitFor !== "none") putTimer(agent, {});
}

/** What the timer sees now. */
export function readIdle(agent: Agent): Idle {
  const timer = getTimer(agent);
  const keptAliveBy = watched[timer.autostop.waitFor](agent.journal);
  const now = agent.monotonic();
  const left = keptAliveBy.length > 0 ? undefined : remainingMs(timer, now);
  return {
    ...timer.autostop,
    idleSince: keptAliveBy.length > 0 ? null : agent.now() - (now - timer.activeAt),
    stopsAt: left === undefined ? null : agent.now() + left,
    keptAliveBy,
    due: timer.due,
  };
}

/** Says with an event when the node is due, for as long as the agent lives. */
export function watchIdle(agent: Agent): Promise<never> {
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<undefined> => {
    clearTimeout(timer);
    timer = setTimeout(() => agent.changes.notify(keys.idle), checkIdle(agent));
  };
  return agent.changes.until<never>(keys.idle, look, agent.stopping);
}

/** Makes the node due when its time has come; answers when to look again. */
export function checkIdle(agent: Agent): number {
  const timer = getTimer(agent);
  const { waitFor } = timer.autostop;
  const left = remainingMs(timer, agent.monotonic());
  if (left === undefined || timer.due) return longestWaitMs;
  const pollMs = waitFor === "jobs_and_ssh" ? terminalsEveryMs : longestWaitMs;
  if (watched[waitFor](agent.journal).length > 0) {
    putTimer(agent, {}, false);
    return pollMs;
  }
  if (left > 0) return Math.min(left, pollMs);
  transaction(agent.journal, () => {
    putSetting(agent.journal, setting, { ...timer, due: true });
    addEvent(agent, { kind: "idle", status: "DUE" });
  });
  agent.log.info({ ...timer.autostop }, "idle for long enough");
  return longestWaitMs;
}

const setting = "idle";

/** The timer as it was left; after a boot its time starts again. */
function getTimer({ journal, monotonic }: Agent): Timer {
  const bootId = readBootId();
  const autostop = { idleMs: null, down: false, waitFor: "jobs_and_ssh" } as const;
  const fresh = {
    autostop,
    activeAt: monotonic(),
    bootId,
    hadJob: false,
    due: false,
    claimed: false,
  };
  const left = findSetting<Timer>(journal, setting) ?? fresh;
  return left.bootId === bootId ? left : { ...left, activeAt: 0, bootId };
}

/** Writes that something was done just now. */
function putTimer(agent: Agent, facts: Partial<Timer>, wake = true): void {
  putSetting(agent.journal, setting, {
    ...getTimer(agent),
    activeAt: agent.monotonic(),
    ...facts,
  });
  if (wake) agent.changes.notify(keys.idle);
}

function activeJobs(journal: Journal): string[] {
  const parts = listLiveParts(journal, findNode(journal)?.rank ?? 0).map(({ jobId }) => jobId);
  return [...new Set([...listActiveIds(journal), ...parts])].map((id) => `job ${id}`);
}
