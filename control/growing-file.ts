import { open, stat } from "node:fs/promises";
import type { Changes } from "../common/changes.ts";
import { errorCodeOf } from "../common/errors.ts";

const chunkBytes = 64 * 1024;

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

/** Where the last `lines` lines of a file begin; 0 when it has no more than these. */
export async function offsetOfLastLines(file: string, lines: number): Promise<number> {
  let size = 0;
  const starts: number[] = [0];
  for await (const chunk of readFrom(file, 0)) {
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) {
      starts.push(size + at + 1);
      if (starts.length > lines + 1) starts.shift();
    }
    size += chunk.length;
  }
  const complete = starts.at(-1) === size ? starts.length - 1 : starts.length;
  return complete <= lines ? (starts[0] ?? 0) : (starts[complete - lines] ?? 0);
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
