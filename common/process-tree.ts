import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCodeOf } from "./errors.ts";

/** A process as the kernel lists it; `startTicks` tells it from a later one with the same pid. */
export interface ProcessStat {
  readonly pid: number;
  readonly name: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Device number of its terminal; 0 without one. */
  readonly terminal: number;
  readonly startTicks: number;
  /** False for what has ended and only waits to be reaped. */
  readonly alive: boolean;
}

/** One process for ever: a pid alone is given to others once it is free. */
export type ProcessId = Pick<ProcessStat, "pid" | "startTicks">;

/** What belongs together: the sessions, groups and descendants of the roots, and who bears the mark. */
export interface Tree {
  readonly roots: readonly ProcessId[];
  /** `NAME=value`; whoever has it in its environment belongs to the tree, wherever it went. */
  readonly mark: string;
}

/** The id of this boot: processes of another one are gone. */
export const readBootId = (): string =>
  readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

/** The process with this pid, or undefined. */
export function findProcess(pid: number): ProcessStat | undefined {
  const text = readProc(`${pid}/stat`);
  return text === undefined ? undefined : parseStat(pid, text);
}

/** Whether exactly this process still runs. */
export function isAlive({ pid, startTicks }: ProcessId): boolean {
  const found = findProcess(pid);
  return found?.startTicks === startTicks && found.alive;
}

/** Every process that we can see. */
export function listProcesses(): ProcessStat[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => findProcess(Number(pid))).filter((found) => found !== undefined);
}

/** The living processes of a tree; never the caller itself. */
export function findTree(tree: Tree): ProcessStat[] {
  const all = listProcesses();
  const roots = rootsStillOurs(tree, all);
  const members = new Set<number>();
  for (const { pid, session, group } of all)
    if (roots.has(pid) || roots.has(session) || roots.has(group) || bears(pid, tree.mark))
      members.add(pid);
  addDescendants(members, all);
  return all.filter(({ pid, alive }) => alive && members.has(pid) && pid !== process.pid);
}

/** What outlived the end of its tree. */
export interface Survivor extends ProcessStat {
  /** Whether it runs under another user, so that we may not signal it. */
  readonly isForeign: boolean;
}

/** How long what was killed may take to die: one that waits for a disk dies once that answers. */
const dyingMs = 10_000;
const longestPauseMs = 100;

/**
 * Ends a tree: TERM to each of its processes, up to `graceMs`, then KILL as often as something of it
 * is found. Answers what is left: processes of other users, and what is not dead ten seconds after
 * the grace; nearly always nothing.
 */
export async function endTree(
  tree: Tree,
  graceMs: number,
  signal?: AbortSignal,
): Promise<Survivor[]> {
  const left = await askToEnd(tree, performance.now() + graceMs, signal);
  if (left.length === 0) return [];
  const roots = [...tree.roots, ...left];
  return kill({ ...tree, roots }, performance.now() + dyingMs, signal);
}

/** Says of each survivor why it was left: `process 123 (sleep) belongs to root and was left`. */
export const describeSurvivors = (survivors: readonly Survivor[]): string =>
  survivors
    .map(({ pid, name, isForeign }) => {
      const why = isForeign ? `belongs to ${ownerOf(pid)}` : "does not die";
      return `process ${pid} (${name}) ${why} and was left`;
    })
    .join("; ");

/** The processes that sit at a terminal of an SSH session. */
export function listTerminals(all: readonly ProcessStat[] = listProcesses()): ProcessStat[] {
  const byPid = new Map(all.map((row) => [row.pid, row]));
  const isUnderSshd = (row: ProcessStat): boolean => {
    const parent = byPid.get(row.parent);
    return parent !== undefined && (parent.name.startsWith("sshd") || isUnderSshd(parent));
  };
  return all.filter((row) => row.alive && row.terminal !== 0 && isUnderSshd(row));
}

/** Answers what is left once the time is over, at once when that is nothing. */
async function askToEnd(tree: Tree, until: number, signal?: AbortSignal): Promise<ProcessStat[]> {
  const asked = new Set<number>();
  const roots = new Set(tree.roots.map(({ pid }) => pid));
  // What was being started when the others were asked is asked as well; but what one of them starts
  // to clean up, such as a trap that saves its work, gets the time that is left.
  const isCleaningUp = ({ parent }: ProcessStat) => asked.has(parent) && !roots.has(parent);
  let left: ProcessStat[] = [];
  for (const pauseMs of growingPauses()) {
    // Who is dying has no environment any more to know it by, but still holds files and their locks.
    left = findTree({ mark: tree.mark, roots: [...tree.roots, ...left] });
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
async function kill(tree: Tree, until: number, signal?: AbortSignal): Promise<Survivor[]> {
  let left: Survivor[] = [];
  for (const pauseMs of growingPauses()) {
    const found = findTree({ mark: tree.mark, roots: [...tree.roots, ...left] });
    const foreign = signalAll(found, "SIGKILL");
    left = found.map((one) => ({ ...one, isForeign: foreign.has(one.pid) }));
    if (left.every(({ isForeign }) => isForeign) || performance.now() > until) break;
    await pause(pauseMs, signal);
  }
  return left;
}

/** A look at every process costs milliseconds: what takes long is looked at less often. */
function* growingPauses(): Generator<number> {
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) yield pauseMs;
}

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  sleep(ms, undefined, signal === undefined ? {} : { signal });

/** Pids of the roots; one whose number was given to another process is left out. */
function rootsStillOurs(tree: Tree, all: readonly ProcessStat[]): Set<number> {
  const started = new Map(all.map(({ pid, startTicks }) => [pid, startTicks]));
  const ours = tree.roots.filter(
    ({ pid, startTicks }) => (started.get(pid) ?? startTicks) === startTicks,
  );
  return new Set(ours.map(({ pid }) => pid));
}

function addDescendants(members: Set<number>, all: readonly ProcessStat[]): void {
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
}

function bears(pid: number, mark: string): boolean {
  const environment = readProc(`${pid}/environ`);
  return environment !== undefined && `\0${environment}`.includes(`\0${mark}\0`);
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

/** Whose rights a process has, in words. */
function ownerOf(pid: number): string {
  const [, uid] = /^Uid:\t(\d+)/m.exec(readProc(`${pid}/status`) ?? "") ?? [];
  if (uid === undefined) return "another user";
  return uid === "0" ? "root" : `user ${uid}`;
}

/** Source: proc(5). The name stands in parentheses and may hold any character. */
function parseStat(pid: number, text: string): ProcessStat {
  const nameEnd = text.lastIndexOf(")");
  const fields = text.slice(nameEnd + 2).split(" ");
  const numberAt = (field: number) => Number(fields[field - 3]);
  return {
    pid,
    name: text.slice(text.indexOf("(") + 1, nameEnd),
    parent: numberAt(4),
    group: numberAt(5),
    session: numberAt(6),
    terminal: numberAt(7),
    startTicks: numberAt(22),
    // A zombie whose other threads go on (field 20 counts them) has not ended.
    alive: fields[0] !== "X" && (fields[0] !== "Z" || numberAt(20) > 1),
  };
}

/** A file of /proc, or undefined when the process went away or is not ours to see. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch (error) {
    const code = errorCodeOf(error) ?? "";
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
}
