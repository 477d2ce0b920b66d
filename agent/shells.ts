import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { endTree } from "../common/end-processes.ts";
import { fail } from "../common/errors.ts";
import { findProcess } from "../common/process-tree.ts";
import { shellWord } from "../common/shell-word.ts";
import { type Frames, openFrames, parseLine } from "../contract/frames.ts";
import { ShellInput, ShellStart, type TerminalSize, toFrame } from "../contract/shell-api.ts";
import { openContainer } from "./containers/container.ts";
import { type Container, findSettings } from "./containers/engine.ts";
import { enterContainer } from "./containers/enter.ts";
import { type Agent, keys } from "./context.ts";
import { markOf } from "./environment.ts";
import { signsOf } from "./process.ts";

const shellsAtMost = 64;
/** What a shell left in the background has after TERM. */
const graceMs = 1_000;
const resizeMs = 5_000;

/**
 * Opens a shell for a caller who sends its frames; answers the shell's own. Throws `ValueError` for a
 * start that is none, and `ConflictError` when too many are open.
 */
export async function openShell(
  agent: Agent,
  body: AsyncIterable<Uint8Array>,
  gone: AbortSignal,
): Promise<Readable> {
  const frames = openFrames(body);
  const start =
    parseLine(ShellStart, (await frames.line()) ?? "") ??
    fail("ValueError", "the first line must say what the shell runs");
  if (agent.shells.size >= shellsAtMost)
    fail("ConflictError", `${shellsAtMost} shells are open on this node; close one of them`);
  const id = randomUUID();
  const begin = (container?: Container) => beginShell(agent, id, start, container);
  const until = AbortSignal.any([gone, agent.stopping]);
  const settings = findSettings(agent);
  const { child, end } = settings ? await openContainer(agent, settings, begin, until) : begin();
  const output = new PassThrough().on("error", () => {});
  void lead(child, output, until, end)
    .catch((error: unknown) => output.destroy(error as Error))
    .finally(() => noteShell(agent, () => agent.shells.delete(id)));
  void feed(child, frames).catch(() => child.stdin?.destroy());
  agent.log.info({ shell: id, terminal: start.terminal !== null }, "shell opened");
  return output;
}

/** Starts a shell, here or in a container; `end` ends all that it started. */
function beginShell(agent: Agent, id: string, start: ShellStart, container: Container | undefined) {
  const folder = join(agent.config.agentFolder, "..", "shells", id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const signs = signsOf(agent, markOf(folder));
  signs.makeGroups();
  const child = spawnShell(agent, start, signs, container);
  const root = findProcess(child.pid ?? 0);
  const tree = { ...signs, roots: root === undefined ? [] : [root] };
  noteShell(agent, () => agent.shells.add(id));
  const end = async () => {
    await endTree(tree, graceMs);
    rmSync(folder, { recursive: true, force: true });
  };
  return { child, end };
}

function noteShell({ changes }: Agent, note: () => void): void {
  note();
  changes.notify(keys.idle);
}

/** Passes on what the shell writes; once it ends, or nobody reads it any more, all it started ends. */
async function lead(
  child: ChildProcess,
  output: PassThrough,
  gone: AbortSignal,
  end: () => Promise<unknown>,
): Promise<void> {
  const closed = once(child, "close").catch(() => {});
  carry(child.stdout, "output", output);
  carry(child.stderr, "errors", output);
  try {
    await once(child, "exit", { signal: gone }).finally(end);
    await untilRead(child, output, closed, gone);
  } finally {
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  }
  output.end(toFrame({ kind: "exit", code: child.exitCode, signal: child.signalCode }));
}

/**
 * Waits until the caller, who may be slow, has read all output. What we may not end, as it runs as another
 * user, may hold the output open: a second in which nothing comes ends that.
 */
async function untilRead(
  { stdout, stderr }: ChildProcess,
  output: PassThrough,
  closed: Promise<unknown>,
  gone: AbortSignal,
): Promise<void> {
  let isQuiet = false;
  for (const stream of [stdout, stderr])
    stream?.on("data", () => {
      isQuiet = false;
    });
  const isOver = closed.then(() => true);
  while (!isQuiet || output.writableNeedDrain) {
    isQuiet = true;
    const pause = sleep(graceMs, false, { ref: false, signal: gone });
    if (await Promise.race([isOver, pause])) return;
  }
}

/** Reads no more than is read from us. */
function carry(from: Readable | null, kind: "output" | "errors", to: PassThrough): void {
  from?.on("data", (chunk: Buffer) => {
    to.write(toFrame({ kind, bytes: chunk.length }));
    if (to.write(chunk)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
}

/** Does what the caller's frames say, until there are no more. */
async function feed(child: ChildProcess, frames: Frames): Promise<void> {
  const { stdin } = child;
  const terminal = terminalOf(child);
  stdin?.on("error", () => {});
  for (let line = await frames.line(); line !== undefined; line = await frames.line()) {
    const frame = parseLine(ShellInput, line) ?? fail("ValueError", "a frame is not known");
    if (frame.kind === "inputEnds") stdin?.end();
    else if (frame.kind === "resize") await resize(await terminal, frame.size);
    else
      for await (const chunk of frames.bytes(frame.bytes))
        if (stdin?.writable && !stdin.write(chunk))
          await Promise.race([once(stdin, "drain"), once(stdin, "close")]);
  }
}

/** The path of the terminal, once it has its first size; empty for a shell that has none. */
async function terminalOf({ stdio }: ChildProcess): Promise<string> {
  const told = stdio[3] as Readable | undefined;
  const chunks = told && (await Promise.race([once(told, "data"), once(told, "close")]));
  return String(chunks?.[0] ?? "").trim();
}

/**
 * Sets the size of a terminal; the kernel signals the programs there. `stty` sets rows and columns one
 * after the other, so callers wait for it: two at once could leave a mix of both sizes, or the older one.
 */
async function resize(terminal: string, { columns, rows }: TerminalSize): Promise<void> {
  if (!/^\/dev\/[\w/]+$/.test(terminal)) return;
  const words = ["-F", terminal, "rows", String(rows), "columns", String(columns)];
  await promisify(execFile)("stty", words, { timeout: resizeMs }).catch(() => {});
}

const findShell = "__shell=$(command -pv bash || command -v bash || echo sh)";

/** Becomes a shell that runs the command in $1, or one to talk to. */
const become = `${findShell}
case $1 in "") exec "$__shell" -l ;; esac
exec "$__shell" -l -c "$1"`;

/** The same in a container, whose image has a PATH that profiles may take away. */
const becomeInside = `${findShell}
exec "$__shell" -l -c '
export PATH=$__path
unset __path
case $1 in "") exec "$0" -i ;; esac
exec "$0" -c "$1"' "$__shell" "$1"`;

/** Enters the control groups in $1, and is no more precious than others when memory runs out. $2 starts the shell. */
const enter = `
for __group in $1; do echo $$ > "$__group/cgroup.procs"; done 2> /dev/null
unset __group
(echo 0 > /proc/self/oom_score_adj) 2> /dev/null
`;

const plain = `${enter}
eval "exec $2"`;

/**
 * `script` makes a terminal, and leaves the exit code of what runs there. The terminal has its first size
 * before anybody knows its path, so that a later one is not overwritten.
 */
const atTerminal = `${enter}
if ! command -pv script > /dev/null; then
  echo "this node has no \`script\` (util-linux) to make a terminal; install it, or run a command without one" >&2
  exit 127
fi
export __command=$2 __rows=$3 __columns=$4
exec script -qefc '
stty sane rows "$__rows" columns "$__columns"
tty >&3
exec 3>&-
eval "exec env -u __command -u __rows -u __columns $__command"' /dev/null 2>&1`;

function spawnShell(
  agent: Agent,
  { command, terminal }: ShellStart,
  { mark, groups }: { mark: string; groups: readonly string[] },
  container: Container | undefined,
): ChildProcess {
  const [name = "", value = ""] = mark.split(/=(.*)/s);
  const home = agent.config.baseEnv["HOME"] ?? "/";
  const own = { ...agent.config.baseEnv, TERM: terminal?.type ?? "dumb", [name]: value };
  const flags = ["-i", ...(terminal === null ? [] : ["-t"])];
  const place = { env: own, workdir: home, groups, flags };
  const { env, through } =
    container === undefined ? { env: own, through: [] } : enterContainer(agent, container, place);
  const shell = ["/bin/sh", "-c", container ? becomeInside : become, "sh", command ?? ""];
  const words = [...through, ...shell].map(shellWord);
  const size = terminal === null ? [] : [String(terminal.rows), String(terminal.columns)];
  const script = terminal === null ? plain : atTerminal;
  return spawn("/bin/sh", ["-c", script, "sh", groups.join(" "), words.join(" "), ...size], {
    ...{ cwd: home, env, detached: true },
    stdio: ["pipe", "pipe", "pipe", ...(terminal === null ? [] : ["pipe" as const])],
  });
}
