import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

/**
 * What belongs together: the sessions, groups and descendants of the roots, who bears the mark, and
 * who is in the control groups.
 */
export interface Tree {
  readonly roots: readonly ProcessId[];
  /** `NAME=value`; whoever has it in its environment belongs to the tree, wherever it went. */
  readonly mark: string;
  /** Folders of control groups, where there are any: only root can leave one by itself. */
  readonly groups?: readonly string[];
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
  const members = new Set(tree.groups?.flatMap(listGroup));
  for (const { pid, session, group } of all)
    if (roots.has(pid) || roots.has(session) || roots.has(group) || bears(pid, tree.mark))
      members.add(pid);
  addDescendants(members, all);
  return all.filter(({ pid, alive }) => alive && members.has(pid) && pid !== process.pid);
}

/** The pids in a control group and those below it; none when it is not there. */
export function listGroup(group: string): number[] {
  const pids = readIfThere(join(group, "cgroup.procs"))?.match(/\d+/g) ?? [];
  return [...pids.map(Number), ...listSubgroups(group).flatMap(listGroup)];
}

/** The control groups below one; none when it is not there. */
export function listSubgroups(group: string): string[] {
  if (!existsSync(group)) return [];
  const entries = readdirSync(group, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(group, name));
}

/** Those who have the mark, `NAME=value`, in their environment; never the caller itself. */
export const findBearers = (mark: string): ProcessStat[] =>
  listProcesses().filter(({ pid, alive }) => alive && pid !== process.pid && bears(pid, mark));

/** Whose rights a process has, in words. */
export function ownerOf(pid: number): string {
  const [, uid] = /^Uid:\t(\d+)/m.exec(readProc(`${pid}/status`) ?? "") ?? [];
  if (uid === undefined) return "another user";
  return uid === "0" ? "root" : `user ${uid}`;
}

/** The processes that sit at a terminal of an SSH session. */
export function listTerminals(all: readonly ProcessStat[] = listProcesses()): ProcessStat[] {
  const byPid = new Map(all.map((row) => [row.pid, row]));
  const isUnderSshd = (row: ProcessStat): boolean => {
    const parent = byPid.get(row.parent);
    return parent !== undefined && (parent.name.startsWith("sshd") || isUnderSshd(parent));
  };
  return all.filter((row) => row.alive && row.terminal !== 0 && isUnderSshd(row));
}

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
const readProc = (path: string): string | undefined => readIfThere(`/proc/${path}`);

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const code = errorCodeOf(error) ?? "";
    if (["ENOENT", "ENODEV", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
}
