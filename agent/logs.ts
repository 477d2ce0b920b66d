import type { FileHandle } from "node:fs/promises";
import {
  findLastLines,
  lineStartAt,
  openOrNothing,
  readOn,
  readOpen,
  untilMore,
} from "../common/growing-file.ts";
import { offsetSince } from "../common/log-growth.ts";
import type { Gap } from "../contract/hooks.ts";
import { type Agent, keys } from "./context.ts";
import { findGap, isIn } from "./log-gap.ts";

const chunkBytes = 256 * 1024;

/** Which bytes of a log a reader wants. */
export interface LogRange {
  readonly offset: number;
  /** The last lines instead of an offset; 0 for none. */
  readonly tail: number;
  /** Leave out lines that ended before this instant, in epoch milliseconds; with `tail`, both hold. */
  readonly since?: number | undefined;
  /** Wait for more until `isOver`. */
  readonly follow: boolean;
  /** Whether nothing more will be written. */
  isOver(): boolean;
}

/**
 * An open log: where its first byte lies, and the bytes. A chunk is good until the next one is asked
 * for. Who stops reading early must end the iteration.
 */
export interface OpenLog {
  readonly offset: number;
  readonly bytes: AsyncIterable<Buffer>;
}

/**
 * Opens a log for a reader; one that is not there is empty. Bytes that were left out are skipped at the
 * beginning; where they lie further on the log ends, and the reader asks again from there.
 */
export async function openLogFile(
  agent: Agent,
  path: string,
  range: LogRange,
  signal: AbortSignal,
): Promise<OpenLog> {
  const file = await openOrNothing(path);
  if (file === undefined) return { offset: range.offset, bytes: nothing() };
  const { size } = await file.stat();
  const gap = findGap(path);
  const last = range.tail > 0 ? await offsetOfTail(file, size, range.tail, gap) : range.offset;
  const wanted = Math.max(last, await lineStartSince(path, file, range.since));
  const offset = isIn(gap, wanted) ? gap.to : wanted;
  const bytes = range.follow
    ? follow(agent, path, file, offset, range.isOver, signal)
    : read(path, file, offset, size);
  return { offset, bytes: closing(file, bytes) };
}

/** Where the last lines begin; they are not looked for before what was left out. */
async function offsetOfTail(file: FileHandle, size: number, lines: number, gap: Gap | undefined) {
  const least = gap?.to ?? 0;
  const { from } = await findLastLines(file, size, lines, { from: 0, to: least });
  return Math.max(least, from);
}

/** Where the first line begins that ended at an instant or later. */
async function lineStartSince(path: string, file: FileHandle, since: number | undefined) {
  const offset = since === undefined ? 0 : offsetSince(path, since);
  return offset === 0 ? 0 : lineStartAt(file, offset);
}

/** Ends where bytes were left out, also if they are only now; returns the offset after what was read. */
async function* read(
  path: string,
  file: FileHandle,
  from: number,
  to: number,
): AsyncGenerator<Buffer, number> {
  let at = from;
  const memory = Buffer.allocUnsafe(Math.max(0, Math.min(chunkBytes, to - from)));
  for await (const chunk of readOpen(file, from, to, memory)) {
    const gap = findGap(path);
    const isCut = gap !== undefined && at < gap.to && at + chunk.length > gap.from;
    const length = isCut ? Math.max(0, gap.from - at) : chunk.length;
    at += length;
    if (length > 0) yield chunk.subarray(0, length);
    if (isCut) break;
  }
  return at;
}

async function* follow(
  { changes, watches }: Agent,
  path: string,
  file: FileHandle,
  from: number,
  isOver: () => boolean,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const unwatch = watches.add(path);
  const sizeNow = async () => (await file.stat()).size;
  async function* readNow(at: number): AsyncGenerator<Buffer, number> {
    return yield* read(path, file, at, await sizeNow());
  }
  const isLast = (at: number) => {
    const ended = () => isOver() || isIn(findGap(path), at);
    return untilMore(changes, keys.log(path), ended, signal)(async () => (await sizeNow()) > at);
  };
  try {
    yield* readOn(from, readNow, isLast);
  } finally {
    unwatch();
  }
}

async function* closing(file: FileHandle, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* bytes;
  } finally {
    await file.close();
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}
