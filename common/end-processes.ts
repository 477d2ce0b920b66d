import { existsSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCodeOf } from "./errors.ts";
import {
  findTree,
  isAlive,
  listGroup,
  listSubgroups,
  ownerOf,
  type ProcessId,
  type ProcessStat,
  type Tree,
} from "./process-tree.ts";

/** What outlived the end of its tree. */
export interface Survivor extends ProcessStat {
  /** Whether it runs under another user, so that we may not signal it. */
  readonly isForeign: boolean;
}

/** How long what was killed may take to die: one that waits for a disk dies once that answers. */
const dyingMs = 10_000;
const emptyingMs = 1_000;
const longestPauseMs = 100;

/**
 * Ends a tree: TERM to each of its processes, up to `graceMs`, then KILL as often as something of it
 * is found. Answers what is left: processes of other users, and what is not dead ten seconds after
 * the grace; nearly always nothing. Its control groups are gone with the last of it.
 */
export async function endTree(
  tree: Tree,
  graceMs: number,
  signal?: AbortSignal,
): Promise<Survivor[]> {
  const { groups = [], roots } = tree;
  const look: Look = (left) => findTree({ ...tree, roots: [...roots, ...left] });
  const survivors = await endFound(look, { roots, groups }, graceMs, signal);
  for (const group of groups) await removeGroup(group);
  return survivors;
}

/** Removes a control group and those below it, unless a process is left in one. */
async function removeGroup(group: string): Promise<void> {
  for (const below of listSubgroups(group)) await removeGroup(below);
  const until = performance.now() + emptyingMs;
  for (const pauseMs of growingPauses()) {
    if (removeFolder(group) || listGroup(group).length > 0 || performance.now() > until) return;
    await sleep(pauseMs);
  }
}

/** A group is busy for a moment after its last process ended. */
function removeFolder(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    const code = errorCodeOf(error) ?? "";
    if (code === "ENOENT") return true;
    if (["EBUSY", "EACCES", "EPERM"].includes(code)) return code !== "EBUSY";
    throw error;
  }
}

/** Ends the processes that a search finds, and nothing that they started. As `endTree` otherwise. */
export function endFoundBy(
  find: () => readonly ProcessStat[],
  graceMs: number,
  signal?: AbortSignal,
): Promise<Survivor[]> {
  const look: Look = (left) => {
    const found = find();
    const isFound = ({ pid }: ProcessId) => found.some((one) => one.pid === pid);
    return [...found, ...left.filter((one) => !isFound(one) && isAlive(one))];
  };
  return endFound(look, { roots: [] }, graceMs, signal);
}

/** Says of each survivor why it was left: `process 123 (sleep) belongs to root and was left`. */
export const describeSurvivors = (survivors: readonly Survivor[]): string =>
  survivors
    .map(({ pid, name, isForeign }) => {
      const why = isForeign ? `belongs to ${ownerOf(pid)}` : "does not die";
      return `process ${pid} (${name}) ${why} and was left`;
    })
    .join("; ");

/**
 * What is still there of those to end. Who is dying has no environment any more to know it by, but
 * still holds files and their locks; so it is told whom it found before.
 */
type Look = (left: readonly ProcessStat[]) => ProcessStat[];

async function endFound(
  look: Look,
  { roots, groups = [] }: Pick<Tree, "roots" | "groups">,
  graceMs: number,
  signal?: AbortSignal,
): Promise<Survivor[]> {
  const sure = lookAgain(look);
  const left = await askToEnd(sure, roots, performance.now() + graceMs, signal);
  if (left.length === 0) return [];
  for (const group of groups) killGroup(group);
  return kill(sure, left, performance.now() + dyingMs, signal);
}

/**
 * Kills everybody in a control group and below it, in one go, where that can be done; what is left is
 * killed one by one. Source: the kernel's cgroup-v2.rst.
 */
function killGroup(group: string): void {
  const file = join(group, "cgroup.kill");
  if (existsSync(file)) ignoring(["ENOENT", "ENODEV", "EACCES"], () => writeFileSync(file, "1"));
}

/** Who starts another and ends while /proc is read can hide both; a second look finds the other. */
const lookAgain =
  (look: Look): Look =>
  (left) => {
    const found = look(left);
    return found.length > 0 ? found : look(left);
  };

/** Answers what is left once the time is over, at once when that is nothing. */
async function askToEnd(
  look: Look,
  roots: readonly ProcessId[],
  until: number,
  signal?: AbortSignal,
): Promise<ProcessStat[]> {
  const asked = new Set<number>();
  const rootPids = new Set(roots.map(({ pid }) => pid));
  // What was being started when the others were asked is asked as well; but what one of them starts
  // to clean up, such as a trap that saves its work, gets the time that is left.
  const isCleaningUp = ({ parent }: ProcessStat) => asked.has(parent) && !rootPids.has(parent);
  let left: ProcessStat[] = [];
  for (const pauseMs of growingPauses()) {
    left = look(left);
    const leftMs = until - performance.now();
    if (left.length === 0 || leftMs <= 0) break;
    const fresh = left.filter((found) => !asked.has(found.pid) && !isCleaningUp(found));
    signalAll(fresh, "SIGTERM", "SIGCONT");
    for (const { pid } of fresh) asked.add(pid);
    await pause(Math.min(pauseMs, leftMs), signal);
  }
  return left;
}

/** Kills until nothing is left, only what is not ours to kill, or the time is over. */
async function kill(
  look: Look,
  known: readonly ProcessStat[],
  until: number,
  signal?: AbortSignal,
): Promise<Survivor[]> {
  let left: readonly ProcessStat[] = known;
  for (const pauseMs of growingPauses()) {
    const found = look(left);
    const foreign = signalAll(found, "SIGKILL");
    if (foreign.size === found.length || performance.now() > until)
      return found.map((one) => ({ ...one, isForeign: foreign.has(one.pid) }));
    left = found;
    await pause(pauseMs, signal);
  }
  return [];
}

/** A look at every process costs milliseconds: what takes long is looked at less often. */
function* growingPauses(): Generator<number> {
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) yield pauseMs;
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, signal === undefined ? {} : { signal });

function ignoring(codes: readonly string[], act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!codes.includes(errorCodeOf(error) ?? "")) throw error;
  }
}

/** Signals each of them; answers the pids of those that are not ours to signal. */
function signalAll(
  processes: readonly ProcessStat[],
  ...signals: NodeJS.Signals[]
): ReadonlySet<number> {
  const foreign = new Set<number>();
  for (const { pid } of processes)
    for (const signal of signals)
      try {
        process.kill(pid, signal);
      } catch (error) {
        const code = errorCodeOf(error);
        if (code === "EPERM") foreign.add(pid);
        else if (code !== "ESRCH") throw error;
      }
  return foreign;
}
