import { type FileHandle, open, stat } from "node:fs/promises";
import { errorCodeOf } from "../../../common/errors.ts";
import { earlierLogOf } from "../../../contract/balancer-api.ts";

const blockBytes = 64 * 1024;
const newline = 10;

/** Waits until there is more, as it is told, or will be no more: then it answers true. */
export type UntilMore = (hasMore: () => Promise<boolean>) => Promise<boolean>;

type File = FileHandle | undefined;

/**
 * The last lines, or all that is kept, of a log that is begun anew when it is full (`earlierLogOf`). It
 * is read on, from one file to the next, until `untilMore` says that there is no more.
 */
export async function* readTurned(
  file: string,
  lines: number | null,
  untilMore: UntilMore = async () => true,
): AsyncGenerator<Buffer> {
  let now = await openFile(file);
  try {
    const last = await lastLines(now, lines);
    yield* readEarlier(file, now, last.missing);
    let at = last.from;
    const isTurned = async () => (await inodeAt(file)) !== (await inodeOf(now));
    const hasMore = async () => (await isTurned()) || (await sizeOf(now)) > at;
    for (let isLast = false; ; isLast = await untilMore(hasMore)) {
      for (let wasTurned = true; wasTurned; ) {
        // Looked at before it is read: nothing is added to one that was turned.
        wasTurned = await isTurned();
        for await (const chunk of chunksOf(now, at)) {
          at += chunk.length;
          yield chunk;
        }
        if (!wasTurned) break;
        await now?.close();
        now = await openFile(file);
        at = 0;
      }
      if (isLast) return;
    }
  } finally {
    await now?.close();
  }
}

/** What the lines begin with that the present file does not have. */
async function* readEarlier(
  file: string,
  now: File,
  missing: number | null,
): AsyncGenerator<Buffer> {
  if (missing === 0) return;
  const earlier = await openFile(earlierLogOf(file));
  try {
    // Turned since the present one was opened, it is that one.
    if ((await inodeOf(earlier)) === (await inodeOf(now))) return;
    const { from } = await lastLines(earlier, missing);
    yield* chunksOf(earlier, from);
  } finally {
    await earlier?.close();
  }
}

/** Where the last lines of a file begin, and how many of them it does not have; null is all. */
async function lastLines(
  file: File,
  lines: number | null,
): Promise<{ from: number; missing: number | null }> {
  const size = await sizeOf(file);
  if (file === undefined || size === 0 || lines === null) return { from: 0, missing: lines };
  const block = Buffer.alloc(blockBytes);
  let missing = lines;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - blockBytes);
    const { bytesRead } = await file.read(block, 0, end - start, start);
    // The newline at the very end closes the last line; it does not begin another.
    let at = end === size ? bytesRead - 1 : bytesRead;
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

async function* chunksOf(file: File, from: number): AsyncGenerator<Buffer> {
  if (file === undefined) return;
  for (let at = from; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(blockBytes), 0, blockBytes, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

const orMissing = (error: unknown): undefined => {
  if (errorCodeOf(error) !== "ENOENT") throw error;
};

const openFile = (path: string): Promise<File> => open(path).catch(orMissing);
const inodeAt = async (path: string) => (await stat(path).catch(orMissing))?.ino;
const inodeOf = async (file: File) => (await file?.stat())?.ino;
const sizeOf = async (file: File) => (await file?.stat())?.size ?? 0;
