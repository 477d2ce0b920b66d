import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fail, ifPossible } from "../../common/errors.ts";
import { findBearers } from "../../common/process-tree.ts";
import type { Gap } from "../../contract/hooks.ts";
import type { Agent } from "../context.ts";
import { markOfWriter } from "../log-pipe.ts";

const blockBytes = 1024 * 1024;
const pauseMs = 1;
const patienceMs = 1_000;

/**
 * Does to a log that is being written what punching a hole does, where nothing can punch one: those
 * who append to it are stopped for a moment, and the end is written anew behind a hole. Whoever read
 * meanwhile learns of it by `agent.rewrites`.
 */
export async function rewriteLog(agent: Agent, path: string, gap: Gap): Promise<void> {
  const writers = () => findBearers(markOfWriter(path));
  try {
    await untilStopped(writers, path);
    rewrite(path, gap);
    agent.rewrites.set(path, (agent.rewrites.get(path) ?? 0) + 1);
  } finally {
    for (const { pid } of writers()) signal(pid, "SIGCONT");
  }
}

/** Finishes what an agent that was killed had begun. */
export function resumeRewrite(path: string): void {
  const tail = findTail(path);
  if (tail !== undefined) putTail(path, tail);
  for (const { pid } of findBearers(markOfWriter(path))) signal(pid, "SIGCONT");
}

/** The end of a log beside it, and where it belongs. */
interface Tail {
  readonly file: string;
  readonly gap: Gap;
}

const nameOfTail = (path: string, { from, to }: Gap): string => `${path}.${from}-${to}.tail`;

function findTail(path: string): Tail | undefined {
  const folder = dirname(path);
  if (!existsSync(folder)) return undefined;
  for (const name of readdirSync(folder)) {
    const [, from, to] = /\.(\d+)-(\d+)\.tail$/.exec(name) ?? [];
    const gap = { from: Number(from), to: Number(to) };
    if (name === basename(nameOfTail(path, gap))) return { file: join(folder, name), gap };
  }
}

/** Nothing else of this process runs meanwhile, so nobody new begins to write. */
function rewrite(path: string, gap: Gap): void {
  const log = openSync(path, "r");
  try {
    const file = nameOfTail(path, gap);
    const aside = openSync(`${file}.new`, "w", 0o600);
    try {
      copy(log, gap.to, aside);
    } finally {
      closeSync(aside);
    }
    renameSync(`${file}.new`, file);
    putTail(path, { file, gap });
  } finally {
    closeSync(log);
  }
}

/** May be repeated until the tail is gone. */
function putTail(path: string, { file, gap }: Tail): void {
  const tail = openSync(file, "r");
  const log = openSync(path, "a");
  try {
    ftruncateSync(log, gap.from);
    ftruncateSync(log, gap.to);
    copy(tail, 0, log);
  } finally {
    closeSync(log);
    closeSync(tail);
  }
  rmSync(file);
}

/** Appends what stands in a file from a place on. */
function copy(from: number, start: number, to: number): void {
  const block = Buffer.allocUnsafe(blockBytes);
  for (let at = start; ; ) {
    const read = readSync(from, block, 0, blockBytes, at);
    if (read === 0) return;
    for (let done = 0; done < read; ) done += writeSync(to, block, done, read - done);
    at += read;
  }
}

async function untilStopped(
  writers: () => readonly { pid: number }[],
  path: string,
): Promise<void> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const found = writers();
    if (found.length === 0) fail("NotFoundError", `no process is known to write ${path}`);
    const going = found.filter(({ pid }) => !isStopped(pid));
    if (going.length === 0) return;
    if (performance.now() > endMs)
      fail("TimeoutError", `the processes that write ${path} do not stop`);
    for (const { pid } of going) signal(pid, "SIGSTOP");
    await sleep(pauseMs);
  }
}

/** Source: proc(5). Who is gone writes as little as who is stopped. */
function isStopped(pid: number): boolean {
  const stat = ifPossible(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return stat === undefined || /^[TtZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

/** Tells a process; one that is gone needs no telling. */
const signal = (pid: number, name: "SIGSTOP" | "SIGCONT") =>
  ifPossible(() => process.kill(pid, name));
