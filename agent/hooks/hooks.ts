import { existsSync } from "node:fs";
import { describeSurvivors, endTree, type Survivor } from "../../common/end-processes.ts";
import { fail } from "../../common/errors.ts";
import { findTree, type Tree } from "../../common/process-tree.ts";
import { exitedWith } from "../../contract/exit-codes.ts";
import { timeoutExitCode } from "../../contract/hooks.ts";
import { runOnNode } from "../containers/run.ts";
import { type Agent, keys } from "../context.ts";
import { hookEnvironmentOf, hookMarkOf } from "../environment.ts";
import { hookFolderOf, hookScript } from "../folders.ts";
import { getRow, writeLifecycle } from "../lifecycles/lifecycles.ts";
import type { Ending, Run } from "../lifecycles/row.ts";
import { findLifecycleSpec } from "../lifecycles/store.ts";
import { endOf, killMsOf } from "../lifecycles/time.ts";
import { untilWritten } from "../log-pipe.ts";
import { findNode } from "../node.ts";
import { forgo, listRoots, type Outcome, signsOf } from "../process.ts";
import { untilDue } from "../timer.ts";
import { hookLogOf } from "./logs.ts";

/** How a hook ended. */
export type HookEnd = Pick<Run, "status" | "exitCode" | "reason">;

/**
 * Takes a hook that is RUNNING to its end: starts it, or goes on with the one that runs already.
 * When its time is over, or it is to end for another reason, its whole tree is ended.
 */
export async function leadHook(agent: Agent, id: string, index: number): Promise<HookEnd> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, agent.stopping]);
  try {
    const outcome = getRun(agent, id, index).ending
      ? undefined
      : await runUnlessCut(agent, id, index, signal);
    const { ending } = getRun(agent, id, index);
    if (ending !== null) return await cutHook(agent, id, index, ending);
    return endFrom(outcome ?? { lost: "its exit code is unknown", begun: true });
  } finally {
    over.abort();
  }
}

/** A hook that was RUNNING in another boot begins no second time, whatever of it is on disk. */
export const forgoHook = (agent: Agent, id: string, index: number, bootId: string): void =>
  forgo(hookFolderOf(agent, id, index), hookScript, bootId);

/** Every process that a hook began with or left. */
function hookTreeOf(agent: Agent, id: string, index: number): Tree {
  const folder = hookFolderOf(agent, id, index);
  return { ...signsOf(agent, hookMarkOf(folder)), roots: listRoots(folder, [hookScript]) };
}

/** Ends whatever a hook left; resolves once all that it wrote is in the log. Answers who was left. */
export async function endHook(
  agent: Agent,
  id: string,
  index: number,
  graceMs: number,
  signal: AbortSignal = agent.stopping,
): Promise<Survivor[]> {
  const left = await endTree(hookTreeOf(agent, id, index), graceMs, signal);
  await untilWritten(hookFolderOf(agent, id, index), [hookScript], () => left.length > 0, signal);
  return left;
}

/** How many processes a hook left behind. */
export const countLeft = (agent: Agent, id: string, index: number): number =>
  findTree(hookTreeOf(agent, id, index)).length;

/** Runs its script to the end, or until the hook is to be ended. */
async function runUnlessCut(
  agent: Agent,
  id: string,
  index: number,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const script = runHookScript(agent, id, index, signal);
  const atMs = () => {
    const row = getRow(agent, id);
    const run = getRun(agent, id, index);
    return run.ending === null ? endOf(row, run).atMs : Number.NEGATIVE_INFINITY;
  };
  const cut = untilDue(agent, keys.lifecycle, atMs, signal);
  script.catch(() => {});
  cut.catch(() => {});
  const outcome = await Promise.race([script, cut]);
  if (outcome !== undefined) return outcome;
  writeTimeout(agent, id, index);
}

async function runHookScript(
  agent: Agent,
  id: string,
  index: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const { baseEnv, workdir, workdirLink } = agent.config;
  const spec = findLifecycleSpec(agent, id);
  const text = spec?.scripts[index];
  if (spec === undefined || text === undefined)
    return { lost: "the journal does not have its script", begun: false };
  const folder = hookFolderOf(agent, id, index);
  const run = getRun(agent, id, index);
  const node = findNode(agent.journal);
  const env = hookEnvironmentOf(baseEnv, folder, spec, node, { lifecycleId: id, run });
  const where = existsSync(workdir)
    ? { workdir, workdirLink }
    : { workdir: baseEnv["HOME"] ?? "/", workdirLink: null };
  const logFile = outputOf(agent, id, run);
  const signs = signsOf(agent, hookMarkOf(folder));
  const script = { name: hookScript, folder, text, env, logFile };
  return runOnNode(agent, { ...script, ...signs, ...where }, signal);
}

/** A log that could not be made is no reason not to run. */
function outputOf(agent: Agent, id: string, { event }: Run): string {
  const path = hookLogOf(agent, id, event);
  return existsSync(path) ? path : "/dev/null";
}

/** What is written before its processes are told, a restart goes on from. */
function writeTimeout(agent: Agent, id: string, index: number): void {
  const row = getRow(agent, id);
  const run = getRun(agent, id, index);
  if (run.ending !== null) return;
  const { reason } = endOf(row, run);
  const killMs = killMsOf(row, agent.monotonic());
  const ending = { status: "TIMED_OUT", reason, killMs } as const;
  writeLifecycle(agent, {
    ...row,
    runs: row.runs.map((one) => (one.index === index ? { ...one, ending } : one)),
  });
}

async function cutHook(agent: Agent, id: string, index: number, ending: Ending): Promise<HookEnd> {
  const left = await endInTime(agent, id, index);
  const reason = [ending.reason, describeSurvivors(left)].filter(Boolean).join("; ");
  const exitCode = ending.status === "TIMED_OUT" ? timeoutExitCode : null;
  return { status: ending.status, exitCode, reason };
}

/** TERM, and KILL at the time that is written, also when that comes nearer meanwhile. */
async function endInTime(agent: Agent, id: string, index: number): Promise<Survivor[]> {
  const killMsNow = () => getRun(agent, id, index).ending?.killMs ?? 0;
  for (;;) {
    const killMs = killMsNow();
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, agent.stopping]);
    const graceMs = Math.max(0, killMs - agent.monotonic());
    const ended = endHook(agent, id, index, graceMs, signal);
    const isSooner = async () => killMsNow() < killMs || undefined;
    const hastened = agent.changes.until(keys.lifecycle, isSooner, signal).then(() => undefined);
    for (const loser of [ended, hastened]) loser.catch(() => {});
    try {
      const left = await Promise.race([ended, hastened]);
      if (left !== undefined) return left;
    } finally {
      over.abort();
    }
  }
}

function endFrom(outcome: Outcome): HookEnd {
  if (!("code" in outcome))
    return {
      status: outcome.begun ? "INTERRUPTED" : "FAILED",
      exitCode: null,
      reason: outcome.lost,
    };
  const { code } = outcome;
  if (code === 0) return { status: "SUCCEEDED", exitCode: 0, reason: null };
  return { status: "FAILED", exitCode: code, reason: `it ${exitedWith(code)}` };
}

function getRun(agent: Agent, id: string, index: number): Run {
  const run = getRow(agent, id).runs.find((one) => one.index === index);
  return run ?? fail("InternalError", `hook ${index} of lifecycle ${id} was not begun`);
}
