import { open, stat } from "node:fs/promises";
import type { Changes } from "../common/changes.ts";
import { errorCodeOf } from "../common/errors.ts";

const chunkBytes = 64 * 1024;
const newline = 10;

/** The bytes of a file from an offset to its present end; none when there is no file. */
export async function* readFrom(file: string, offset: number): AsyncGenerator<Buffer> {
  const handle = await open(file).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return;
  try {
    for (let at = offset; ; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(chunkBytes), 0, chunkBytes, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** The size of a file in bytes; 0 when there is none. */
export async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") return undefined;
    throw error;
  });
  return found?.size ?? 0;
}

/** Bytes of a file that mean nothing, from the first to the one after the last. */
interface Hole {
  readonly from: number;
  readonly to: number;
}

/**
 * Where the last `lines` lines of a file begin, found from its end; 0 when it has no more than these.
 * A hole ends the line before it.
 */
export async function offsetOfLastLines(
  file: string,
  lines: number,
  hole: Hole | null = null,
): Promise<number> {
  const size = await sizeOf(file);
  if (size === 0) return 0;
  await using handle = await open(file);
  const block = Buffer.alloc(chunkBytes);
  let missing = lines;
  for (let end = size; end > 0; ) {
    if (end === hole?.to) end = hole.from;
    const least = hole !== null && end > hole.to ? hole.to : 0;
    const start = Math.max(least, end - chunkBytes);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    // The newline at the very end closes the last line; it does not begin another.
    let at = start + bytesRead === size ? bytesRead - 1 : bytesRead;
    while (at > 0) {
      at = block.subarray(0, bytesRead).lastIndexOf(newline, at - 1);
      if (at < 0) break;
      missing -= 1;
      if (missing === 0) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/**
 * A file that grows, from an offset until `ended` says yes and every byte is out. `key` is what is
 * notified when the file or its end changes.
 */
export async function* followFile(
  changes: Changes,
  key: string,
  file: string,
  ended: () => Promise<boolean>,
  offset: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for (let at = offset; ; ) {
    const last = await changes.until(
      key,
      async () => {
        if (await ended()) return true;
        return (await sizeOf(file)) > at ? false : undefined;
      },
      signal,
    );
    for await (const chunk of readFrom(file, at)) {
      at += chunk.length;
      yield chunk;
    }
    if (last) return;
  }
}
