import { execFile } from "node:child_process";
import { closeSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { promisify } from "node:util";
import type { Changes } from "./changes.ts";
import { ifMissing } from "./files.ts";

const chunkBytes = 64 * 1024;
const newline = 10;

/** Opens a file to be read; undefined when there is none. */
export const openOrNothing = (path: string): Promise<FileHandle | undefined> =>
  open(path).catch(ifMissing(undefined));

/** What the system knows of a file; undefined when there is none. */
export const statOrNothing = (path: string): Promise<Stats | undefined> =>
  stat(path).catch(ifMissing(undefined));

/** The size of a file in bytes; 0 when there is none. */
export const sizeOf = async (path: string): Promise<number> =>
  (await statOrNothing(path))?.size ?? 0;

/** So many bytes of a file from an offset, or those that there are. */
export function readBytes(path: string, from: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  const file = openSync(path, "r");
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, length, from));
  } finally {
    closeSync(file);
  }
}

/**
 * The bytes of an open file up to an offset or to its present end; returns the offset after them. Chunks
 * that are given `memory` lie in it: each is good until the next one is asked for.
 */
export async function* readOpen(
  handle: FileHandle | undefined,
  from: number,
  to = Number.POSITIVE_INFINITY,
  memory?: Buffer,
): AsyncGenerator<Buffer, number> {
  let at = from;
  while (handle !== undefined && at < to) {
    const block = memory ?? Buffer.alloc(chunkBytes);
    const { bytesRead } = await handle.read(block, 0, Math.min(block.length, to - at), at);
    if (bytesRead === 0) break;
    at += bytesRead;
    yield block.subarray(0, bytesRead);
  }
  return at;
}

/** The bytes of a file from an offset to its present end, and the offset after them; none when there is no file. */
export async function* readFrom(path: string, offset: number): AsyncGenerator<Buffer, number> {
  await using handle = await openOrNothing(path);
  return yield* readOpen(handle, offset);
}

/** Bytes of a file that mean nothing, from the first to the one after the last. */
interface Hole {
  readonly from: number;
  readonly to: number;
}

/**
 * Where the last `lines` lines of an open file begin, found from its end, and how many it lacks. A last
 * line may lack its newline; a hole ends the line before it.
 */
export async function findLastLines(
  handle: FileHandle,
  size: number,
  lines: number,
  hole?: Hole | null,
): Promise<{ from: number; missing: number }> {
  if (size === 0) return { from: 0, missing: lines };
  const block = Buffer.alloc(chunkBytes);
  let missing = lines;
  for (let end = size; end > 0; ) {
    if (end === hole?.to) end = hole.from;
    const least = hole && end > hole.to ? hole.to : 0;
    const start = Math.max(least, end - chunkBytes);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    // The newline at the very end closes the last line; it does not begin another.
    let at = start + bytesRead === size ? bytesRead - 1 : bytesRead;
    while (at > 0) {
      at = block.subarray(0, bytesRead).lastIndexOf(newline, at - 1);
      if (at < 0) break;
      missing -= 1;
      if (missing === 0) return { from: start + at + 1, missing };
    }
    end = start;
  }
  return { from: 0, missing: missing - 1 };
}

/** Where the line begins that goes on at an offset; the offset itself where a line begins there. */
export async function lineStartAt(handle: FileHandle, offset: number): Promise<number> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, offset - 1);
  if (bytesRead === 0 || buffer[0] === newline) return offset;
  return (await findLastLines(handle, offset, 1)).from;
}

/** Where the last lines of a file begin; 0 when it has no more than these, and when all are wanted, which is 0 lines. */
export async function offsetOfLastLines(
  path: string,
  lines: number,
  hole?: Hole | null,
): Promise<number> {
  await using handle = lines > 0 ? await openOrNothing(path) : undefined;
  if (handle === undefined) return 0;
  return (await findLastLines(handle, (await handle.stat()).size, lines, hole)).from;
}

/** Gives the disk back what lies in a hole, for which Node.js has no call. Rejects where that cannot be. */
export async function punchHole(path: string, { from, to }: Hole): Promise<void> {
  const range = ["--offset", String(from), "--length", String(to - from)];
  await promisify(execFile)("fallocate", ["--punch-hole", ...range, path]);
}

/** Waits until there is more, as `hasMore` says, or will be no more: then it answers true. */
export type UntilMore = (hasMore: () => Promise<boolean>) => Promise<boolean>;

/** For readers who want what is there now. */
export const noMore: UntilMore = async () => true;

/** For readers who follow until `ended` says yes; `key` is notified when there is more, or the end. */
export const untilMore =
  (
    changes: Changes,
    key: string,
    ended: () => boolean | Promise<boolean>,
    signal: AbortSignal,
  ): UntilMore =>
  (hasMore) =>
    changes.until(
      key,
      async () => (await ended()) || ((await hasMore()) ? false : undefined),
      signal,
    );

/**
 * What `read` gives from an offset on, again and again. It returns the offset after what it gave.
 * `isLast` is asked before each reading, so that all that was written before the end is read.
 */
export async function* readOn(
  offset: number,
  read: (at: number) => AsyncGenerator<Buffer, number>,
  isLast: (at: number) => Promise<boolean>,
): AsyncGenerator<Buffer> {
  for (let at = offset, last = false; !last; ) {
    last = await isLast(at);
    at = yield* read(at);
  }
}

/** What a file that grows has from an offset on, and what is added until there is no more. */
export const readGrowingFrom = (path: string, offset: number, more: UntilMore) =>
  readOn(
    offset,
    (at) => readFrom(path, at),
    (at) => more(async () => (await sizeOf(path)) > at),
  );

/** The last lines of a file that grows, 0 for all, and what is added until there is no more. */
export async function* readGrowing(
  path: string,
  lines: number,
  more: UntilMore,
): AsyncGenerator<Buffer> {
  yield* readGrowingFrom(path, await offsetOfLastLines(path, lines), more);
}
