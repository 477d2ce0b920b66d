import { type FileHandle, open } from "node:fs/promises";
import { errorCodeOf } from "../common/errors.ts";
import { type Agent, keys } from "./context.ts";
import { findGap, isIn } from "./log-gap.ts";

const chunkBytes = 256 * 1024;
const newline = 10;

/** Which bytes of a log a reader wants. */
export interface LogRange {
  readonly offset: number;
  /** The last lines instead of an offset; 0 for none. */
  readonly tail: number;
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
  const wanted =
    range.tail > 0 ? await offsetOfTail(file, size, range.tail, gap?.to) : range.offset;
  const offset = isIn(gap, wanted) ? gap.to : wanted;
  const bytes = range.follow
    ? follow(agent, path, file, offset, range.isOver, signal)
    : read(path, file, offset, size);
  return { offset, bytes: closing(file, bytes) };
}

/** Where the last lines of a file begin, found from its end; a last line may lack its newline. */
export async function offsetOfTail(
  file: FileHandle,
  size: number,
  lines: number,
  least = 0,
): Promise<number> {
  const block = Buffer.allocUnsafe(chunkBytes);
  let missing = lines;
  for (let end = size; end > least; ) {
    const start = Math.max(least, end - chunkBytes);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    const bytes = block.subarray(0, bytesRead);
    // The newline at the very end closes the last line; it does not begin another.
    let at = start + bytesRead === size ? bytesRead - 1 : bytesRead;
    while (at > 0) {
      at = bytes.lastIndexOf(newline, at - 1);
      if (at === -1) break;
      missing -= 1;
      if (missing === 0) return start + at + 1;
    }
    end = start;
  }
  return least;
}

/** Ends where bytes were left out, also if they are only now. */
async function* read(
  path: string,
  file: FileHandle,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  if (from >= to) return;
  const block = Buffer.allocUnsafe(Math.min(chunkBytes, to - from));
  for (let at = from; at < to; ) {
    const { bytesRead } = await file.read(block, 0, Math.min(block.length, to - at), at);
    const gap = findGap(path);
    const isCut = gap !== undefined && at < gap.to && at + bytesRead > gap.from;
    const length = isCut ? Math.max(0, gap.from - at) : bytesRead;
    if (length === 0) return;
    at += length;
    yield block.subarray(0, length);
  }
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
  let at = from;
  const sizeNow = async () => (await file.stat()).size;
  const hasMore = async () => isOver() || (await sizeNow()) > at || undefined;
  try {
    for (;;) {
      // Asked before reading: what was written before the end is then surely read.
      const last = isOver();
      for await (const chunk of read(path, file, at, await sizeNow())) {
        at += chunk.length;
        yield chunk;
      }
      if (last || isIn(findGap(path), at)) return;
      await changes.until(keys.log(path), hasMore, signal);
    }
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

async function openOrNothing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path);
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
