import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCodeOf } from "../common/errors.ts";
import { isAlive, type ProcessId, readBootId } from "../common/process-tree.ts";

export const phases = ["setup", "run"] as const;
export type Phase = (typeof phases)[number];

/** A bash script with everything its process needs. */
export interface Script {
  readonly phase: Phase;
  /** Where the script, its claim and its exit code lie: `run.sh`, `run.claim`, `run.exit`. */
  readonly folder: string;
  readonly text: string;
  /** Both outputs are appended here by the process itself. */
  readonly logFile: string;
  /** Where it starts, and the second name of that folder; made when missing. */
  readonly workdir: string;
  readonly workdirLink: string;
  readonly env: Readonly<Record<string, string>>;
}

/** How a script ended: its exit code, or why nobody knows it. */
export type Outcome = { readonly code: number } | { readonly lost: string };

/**
 * Stands between the agent and bash, in a session of its own, and outlives the agent. A link is made
 * whole or not at all and only once: whoever makes `<phase>.claim` runs the script, so a script that
 * is started twice runs once. The traps let it outlive the TERM meant for the script; bash does not
 * inherit them. `command -p` finds programs whatever the task's PATH is.
 */
const wrapper = `
trap : TERM INT HUP
read -r __boot < /proc/sys/kernel/random/boot_id
read -r __stat < "/proc/$$/stat"
set -- "$1" "$2" \${__stat##*) }
command -p ln -s "$$ \${22} $__boot" "$1/$2.claim" 2>/dev/null || exit
unset __boot __stat
command -p bash --login "$1/$2.sh"
command -p ln -s "$?" "$1/$2.exit"`;

const adoptedPollMs = 100;

/**
 * Runs a script to its end, exactly once however often it is called for the same folder and phase:
 * one that runs already is waited for, one that ended is only reported.
 */
export async function runScript(script: Script, signal: AbortSignal): Promise<Outcome> {
  const { folder, phase } = script;
  if (readLink(folder, phase, "claim") === undefined) {
    const failure = await start(script);
    if (failure !== undefined) return { lost: failure };
  }
  const process = findRoot(folder, phase);
  while (process !== undefined && isAlive(process))
    await sleep(adoptedPollMs, undefined, { signal });
  const code = readLink(folder, phase, "exit");
  if (code !== undefined) return { code: Number(code) };
  return { lost: `the process of its ${phase} script is gone and left no exit code` };
}

/** The processes that a job's scripts began with on this node and in this boot. */
export const listRoots = (folder: string): ProcessId[] =>
  phases.map((phase) => findRoot(folder, phase)).filter((root) => root !== undefined);

/** Resolves once the wrapper ended; with why, when it could not be started. */
async function start(script: Script): Promise<string | undefined> {
  try {
    makeWorkdir(script);
    writeFileSync(join(script.folder, `${script.phase}.sh`), script.text, { mode: 0o600 });
    await once(spawnWrapper(script), "exit");
  } catch (error) {
    return `its ${script.phase} script could not be started: ${error instanceof Error ? error.message : error}`;
  }
}

function spawnWrapper({ phase, folder, logFile, workdir, env }: Script): ChildProcess {
  const log = openSync(logFile, "a", 0o600);
  try {
    const child = spawn("/bin/sh", ["-c", wrapper, "sh", folder, phase], {
      cwd: workdir,
      env,
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

function makeWorkdir({ workdir, workdirLink: link }: Script): void {
  mkdirSync(workdir, { recursive: true });
  try {
    symlinkSync(workdir, link);
  } catch (error) {
    if (errorCodeOf(error) !== "EEXIST") throw error;
  }
}

function findRoot(folder: string, phase: Phase): ProcessId | undefined {
  const [pid, startTicks, bootId] = readLink(folder, phase, "claim")?.split(" ") ?? [];
  if (bootId !== readBootId()) return undefined;
  return { pid: Number(pid), startTicks: Number(startTicks) };
}

function readLink(folder: string, phase: Phase, kind: "claim" | "exit"): string | undefined {
  try {
    return readlinkSync(join(folder, `${phase}.${kind}`));
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
