import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { errorCodeOf } from "../common/errors.ts";
import { product } from "../common/product.ts";

/** Whose output goes where. */
export interface Output {
  readonly name: string;
  readonly folder: string;
  readonly logFile: string;
}

/**
 * Appends what comes out of the pipe to the log until nobody has the pipe open any more. It outlives
 * the agent and the TERM that others get. A full disk costs a piece at a time, as it would whoever
 * wrote there; then the next is tried. A log whose file system is gone gets nothing more: nobody waits
 * for it. Source of the code: cat has 1 for every trouble of its own.
 */
export const collector = `
trap "" TERM INT HUP
until command -p cat; do case $? in
  1) [ -e /dev/stdout ] || exec > /dev/null ;;
  *) command -p sleep 1 ;;
esac; done
exec < /dev/null
command -p rm -f "$1"`;

const markName = `${product.word.toUpperCase()}_LOG_FILE`;
const suffix = ".pipe";
/** With nobody in their way the last bytes are in the log much sooner. */
const promptMs = 100;
/** A slow disk or a busy machine takes longer; one that takes this long hangs, or somebody escaped. */
const slowestMs = 5_000;
const longestPauseMs = 20;
const run = promisify(execFile);

/**
 * What a script writes to, for the caller to close: a pipe whose bytes are appended to the log. The
 * log itself would not do: `echo > /dev/stderr` opens it anew and empties it, a pipe takes the line.
 * Where no pipe can be made it has to.
 */
export async function openOutput(output: Output): Promise<number> {
  const path = join(output.folder, `${output.name}.${randomUUID()}${suffix}`);
  const log = openSync(output.logFile, "a", 0o600);
  try {
    // Whoever a script becomes may open its output by name, and nobody else gets at it.
    await run("mkfifo", ["-m", "622", path]);
    const pipe = openPipe(path, log, output.logFile);
    closeSync(log);
    return pipe;
  } catch {
    return log;
  }
}

/** What those who append to a log have in their environment, `NAME=value`. */
export const markOfWriter = (logFile: string): string => `${markName}=${logFile}`;

/**
 * Resolves once all that scripts of a folder wrote is in their logs. Somebody who is left of them may
 * have the pipe open for ever, and is not waited for.
 */
export async function untilWritten(
  folder: string,
  names: readonly string[],
  isSomebodyLeft: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const isWrittenWithin = async (patienceMs: number) => {
    const endMs = performance.now() + patienceMs;
    for (let pauseMs = 1; isCollected(folder, names); pauseMs *= 2) {
      if (performance.now() > endMs) return false;
      await sleep(Math.min(pauseMs, longestPauseMs), undefined, { signal });
    }
    return true;
  };
  if ((await isWrittenWithin(promptMs)) || isSomebodyLeft()) return;
  await isWrittenWithin(slowestMs);
}

/** Each end is opened while the other one is there: that waits for nobody. */
function openPipe(path: string, log: number, logFile: string): number {
  const both = openSync(path, constants.O_RDWR);
  const reading = openSync(path, constants.O_RDONLY);
  try {
    const child = spawn("/bin/sh", ["-c", collector, "sh", path], {
      cwd: "/",
      env: { [markName]: logFile },
      detached: true,
      stdio: [reading, log, "ignore"],
    });
    child.on("error", () => {}).unref();
    if (child.pid === undefined) throw new Error("no process can be started");
    return openSync(path, constants.O_WRONLY);
  } finally {
    closeSync(reading);
    closeSync(both);
  }
}

const isCollected = (folder: string, names: readonly string[]): boolean =>
  existsSync(folder) &&
  readdirSync(folder).some(
    (file) =>
      file.endsWith(suffix) &&
      names.some((name) => file.startsWith(`${name}.`)) &&
      hasReader(join(folder, file)),
  );

/** Source: fifo(7). A pipe that nobody reads cannot be opened for writing without waiting. */
function hasReader(path: string): boolean {
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    if (["ENXIO", "ENOENT"].includes(errorCodeOf(error) ?? "")) return false;
    throw error;
  }
}
