import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCodeOf } from "../common/errors.ts";
import { isNoRoom, unlessMissing } from "../common/files.ts";
import {
  findTree,
  isAlive,
  type ProcessId,
  readBootId,
  type Tree,
} from "../common/process-tree.ts";
import type { Limits } from "../contract/agent-shapes.ts";
import { rebooted } from "../contract/job-loss.ts";
import { type GroupPlace, groupsOf, makeGroups } from "./control-groups.ts";
import { openOutput, untilWritten } from "./log-pipe.ts";

/** By what all processes of a script are known, wherever they went, and what they get at most. */
interface Signs extends Omit<Tree, "roots"> {
  /** Makes its control groups unless they are there. */
  readonly makeGroups?: () => void;
}

/**
 * A script for bash, or for sh where there is none, with everything its process needs. Its control
 * groups are made when missing.
 */
export interface Script extends Signs {
  readonly name: string;
  /** Where the script, its claim and its exit code lie: `run.sh`, `run.claim`, `run.exit`. */
  readonly folder: string;
  readonly text: string;
  /** Both outputs are appended here, without the agent. */
  readonly logFile: string;
  /** Where it starts, and a second name of that folder, if any; made when missing. */
  readonly workdir: string;
  readonly workdirLink: string | null;
  readonly env: Readonly<Record<string, string>>;
  /** Names of variables that `~/.bashrc` cannot change. */
  readonly kept?: readonly string[];
  /** The words of a command that starts it, those that run the script being its last; none needs none. */
  readonly through?: readonly string[];
  /** That command starts it in a container: it ends when the container does, and its exit code says nothing then. */
  readonly isContained?: boolean;
}

/** How a script ended: its exit code and perhaps its cause, or why nobody knows that and whether it was begun. */
export type Outcome =
  | { readonly code: number; readonly why?: string }
  | { readonly lost: string; readonly begun: boolean };

/**
 * Stands between the agent and the script, in a session of its own, and outlives the agent. A link is made
 * whole or not at all and only once: whoever makes `<name>.claim` runs the script, so a script that
 * is started twice runs once. The traps let it outlive the TERM meant for the script; that does not
 * inherit them. `command -p` finds programs whatever the task's PATH is. It enters its control groups before
 * it begins anything, and is no more precious than others when memory runs out, as the agent may be.
 * What is behind the third argument runs the script: `alone` becomes it, and `behind` and `contained` start it
 * through others. In a container output that goes through these would end with them, so `__log` names it.
 */
const wrapper = `
trap : TERM INT HUP
__at=$1 __groups=$2 __how=$3
shift 3
read -r __precious < /proc/self/oom_score_adj
for __group in $__groups; do echo $$ > "$__group/cgroup.procs"; done 2>/dev/null
case $__precious in -*) echo 0 > /proc/self/oom_score_adj ;; esac 2>/dev/null
read -r __boot < /proc/sys/kernel/random/boot_id
read -r __stat < "/proc/$$/stat"
__claim() { command -p ln -s "$$ \${20} $__boot" "$__at.claim" 2>/dev/null; }
__claim \${__stat##*) } || exit
case $__how in
alone) exec "$@" ;;
contained) export __log=$(command -p readlink "/proc/$$/fd/1") ;;
esac
"$@"
__code=$?
case $__how in behind) command -p ln -s "$__code" "$__at.exit" 2>/dev/null ;; esac`;

/**
 * Runs the script where it belongs, and leaves its exit code unless it is `behind` others. A script that the disk has
 * no room for comes as the third argument; links still find theirs.
 */
const inner = `
trap : TERM INT HUP
__at=$1 __how=$2 __text=$3
__shell=$(command -pv bash || command -v bash || echo sh)
if test "$__shell" != sh && test -r "$__at.env"; then export __bash_env="\${BASH_ENV-}" BASH_ENV="$__at.env"; fi
case $__text in
"") set -- "$__shell" -l "$__at.sh" ;;
*) set -- "$__shell" -l -c "$__text" ;;
esac
unset __text __shell
case $__how in behind) exec "$@" ;; esac
command -p "$@"
command -p ln -s "$?" "$__at.exit"`;

/**
 * What bash reads before a script, as its `BASH_ENV`: gives the script the variables and functions that an
 * interactive bash has after `~/.bashrc`, which often returns early in any other shell. Variables that
 * are `kept` do not change, and the PATH of a container's image outlives what profiles say. That shell's output is dropped, and its background processes hold nothing of
 * ours open: it finds the pipe through its parent. The task's own `BASH_ENV` is read first, and restored.
 */
const beforeScript = (kept: readonly string[]): string => `
BASH_ENV=$__bash_env
if test -n "$__path"; then PATH=$__path; fi
unset __bash_env __path
if test -n "$BASH_ENV"; then . "$BASH_ENV"; else unset BASH_ENV; fi
if test -r ~/.bashrc; then {
  __kept="$(declare -p PWD ${kept.join(" ")})"
  eval "$("$BASH" -i -c '{ export -p; declare -f; } > /proc/$PPID/fd/1' > /dev/null; :)"
  eval "$__kept"
  unset __kept
} 2> /dev/null; fi
`;

/** In a container: what `beforeScript` does about the PATH, for shells that do not read it. */
const ofImage = `PATH="\${__path:-$PATH}"; unset __path; `;

const adoptedPollMs = 100;

/**
 * Runs a script to its end, exactly once however often it is called for the same folder and name:
 * one that runs already is waited for, one that ended is only reported.
 */
export async function runScript(script: Script, signal: AbortSignal): Promise<Outcome> {
  const { folder, name } = script;
  if (!isBegun(script)) {
    const failure = await start(script);
    if (failure !== undefined) return { lost: failure, begun: false };
  }
  const process = findRoot(folder, name);
  while (process !== undefined && isAlive(process))
    await sleep(adoptedPollMs, undefined, { signal });
  const isSomebodyLeft = () => findTree({ ...script, roots: listRoots(folder, [name]) }).length > 0;
  await untilWritten(folder, [name], isSomebodyLeft, signal);
  const code = readLink(folder, name, "exit");
  if (code !== undefined) return { code: Number(code) };
  const isOfThisBoot = readLink(folder, name, "claim")?.endsWith(readBootId()) ?? true;
  const gone = `the process of its ${name} script is gone and left no exit code`;
  return { lost: isOfThisBoot ? gone : rebooted, begun: true };
}

/** Whether a script was begun, here or before. */
export const isBegun = ({ folder, name }: Pick<Script, "folder" | "name">): boolean =>
  readLink(folder, name, "claim") !== undefined;

/**
 * Sees to it that a script which another boot may have begun does not begin again: its claim may have
 * been in memory alone when the machine lost its power.
 */
export function forgo(folder: string, name: string, bootId: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  link(`0 0 ${bootId}`, join(folder, `${name}.claim`));
}

/** The processes that the scripts of a folder began with on this node and in this boot. */
export const listRoots = (folder: string, names: readonly string[]): ProcessId[] =>
  names.map((name) => findRoot(folder, name)).filter((root) => root !== undefined);

/** The signs of the scripts of a folder, which is the value of the variable that marks them. */
export function signsOf(
  { groupPlaces }: { readonly groupPlaces: readonly GroupPlace[] },
  [name, folder]: [name: string, folder: string],
  limits: Limits = {},
): Required<Signs> {
  const groups = groupsOf(groupPlaces, folder, limits);
  return {
    mark: `${name}=${folder}`,
    groups,
    makeGroups: () => makeGroups(groupPlaces, folder, groups, limits),
  };
}

/** Resolves once the wrapper ended; with why, when it could not be started. */
async function start(script: Script): Promise<string | undefined> {
  try {
    makeWorkdir(script);
    script.makeGroups?.();
    const whole = script.isContained ? ofImage + script.text : script.text;
    const text = writeTexts(script, whole) ? "" : whole;
    await once(spawnWrapper(script, text, await openOutput(script)), "exit");
  } catch (error) {
    return `its ${script.name} script could not be started: ${error instanceof Error ? error.message : error}`;
  }
}

/** Whether the script is on disk, with room for the whole of it and of what is read before it. */
function writeTexts({ folder, name, kept = [] }: Script, text: string): boolean {
  try {
    writeFileSync(join(folder, `${name}.env`), beforeScript(kept), { mode: 0o600 });
    writeFileSync(join(folder, `${name}.sh`), text, { mode: 0o600 });
    return true;
  } catch (error) {
    if (isNoRoom(error)) return false;
    throw error;
  }
}

function spawnWrapper(script: Script, text: string, output: number): ChildProcess {
  const { name, folder, workdir, env, groups = [], through = [], isContained } = script;
  const at = join(folder, name);
  const how = isContained ? "contained" : through.length > 0 ? "behind" : "alone";
  try {
    const words = ["-c", wrapper, "sh", at, groups.join(" "), how, ...through];
    words.push("/bin/sh", "-c", inner, "sh", at, how, text);
    const child = spawn("/bin/sh", words, {
      cwd: workdir,
      env,
      detached: true,
      stdio: ["ignore", output, output],
    });
    child.unref();
    return child;
  } finally {
    closeSync(output);
  }
}

function makeWorkdir({ workdir, workdirLink }: Script): void {
  mkdirSync(workdir, { recursive: true });
  if (workdirLink !== null) link(workdir, workdirLink);
}

/** Makes a link unless something is there, or the disk has no room for it. */
function link(target: string, path: string): void {
  try {
    symlinkSync(target, path);
  } catch (error) {
    if (errorCodeOf(error) !== "EEXIST" && !isNoRoom(error)) throw error;
  }
}

function findRoot(folder: string, name: string): ProcessId | undefined {
  const claim = findClaim(folder, name);
  return claim?.bootId === readBootId() ? claim : undefined;
}

/** The process that began a script, and the boot it belongs to; undefined before it has begun. */
export function findClaim(
  folder: string,
  name: string,
): (ProcessId & { readonly bootId: string }) | undefined {
  const [pid, startTicks, bootId] = readLink(folder, name, "claim")?.split(" ") ?? [];
  if (bootId === undefined) return undefined;
  return { pid: Number(pid), startTicks: Number(startTicks), bootId };
}

function readLink(folder: string, name: string, kind: "claim" | "exit"): string | undefined {
  return unlessMissing(() => readlinkSync(join(folder, `${name}.${kind}`)));
}
