import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { endTree } from "../../../common/end-processes.ts";
import { findProcess } from "../../../common/process-tree.ts";
import { excerptOf } from "../../output-excerpt.ts";

/** How long a script may take, and how long it then has after TERM. */
const limitMs = 60_000;
const graceMs = 2_000;
/** How much of its output is looked at. */
const tailCharacters = 4_096;
/** By this all that it started is found, wherever that went. */
const markName = "EVENT_CALLBACK_ID";

/** A script of a user that control runs. */
export interface Script {
  readonly text: string;
  /** Its working folder and HOME. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs a script with bash in a session of its own, and ends whatever it leaves behind. Answers why it failed;
 * undefined where it exited with 0. Rejects on abort.
 */
export async function runScript(
  { text, folder, env }: Script,
  signal: AbortSignal,
  atMostMs = limitMs,
): Promise<string | undefined> {
  signal.throwIfAborted();
  // Others see the words of a command line, and the text may have secrets.
  const file = join(folder, "script.sh");
  await writeFile(file, text, { mode: 0o600 });
  try {
    return await runFile(file, { folder, env }, signal, atMostMs);
  } finally {
    await rm(file, { force: true });
  }
}

async function runFile(
  file: string,
  { folder, env }: Omit<Script, "text">,
  signal: AbortSignal,
  atMostMs: number,
): Promise<string | undefined> {
  const mark = randomUUID();
  const child = start(file, { ...env, HOME: folder, [markName]: mark }, folder);
  if (typeof child === "string") return child;
  let tail = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      tail = (tail + chunk).slice(-tailCharacters);
    });
  const root = findProcess(child.pid ?? 0);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(atMostMs)]);
  const how = await once(child, "exit", { signal: limit })
    .then(([code, killedBy]) => (code === 0 ? undefined : `exited with ${code ?? killedBy}`))
    .catch((error: Error) => (limit.aborted ? tooLong(atMostMs) : error.message));
  await endTree({ roots: root ? [root] : [], mark: `${markName}=${mark}` }, graceMs);
  for (const stream of [child.stdout, child.stderr]) stream.destroy();
  signal.throwIfAborted();
  if (how === undefined) return undefined;
  const said = excerptOf(tail);
  return said === "" ? how : `${how}; it printed last:\n${said.replace(/^/gm, "  ")}`;
}

/** A text says why it cannot be started, such as for an environment that is too large. */
function start(file: string, env: NodeJS.ProcessEnv, cwd: string) {
  try {
    return spawn("bash", [file], { cwd, detached: true, stdio: ["ignore", "pipe", "pipe"], env });
  } catch (error) {
    return `could not be started: ${error instanceof Error ? error.message : error}`;
  }
}

const tooLong = (ms: number): string => `took longer than its ${ms / 1_000} s and was ended`;
