import { createHash, type Hash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { chmod, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { product } from "../common/product.ts";
import type { FileEntry } from "../contract/files-api.ts";
import { cannotWrite, findStats } from "./local-files.ts";

/** Where a file, or a link, is until it is whole: beside its place, so that it can be renamed. */
export function partOf(there: string): string {
  const name = createHash("sha256").update(basename(there)).digest("hex").slice(0, 16);
  return join(dirname(there), `.${product.word}-${name}.part`);
}

/** How many bytes of a file came before; 0 for what cannot be its beginning. */
export async function sizeOfPart(there: string, { size }: FileEntry): Promise<number> {
  const stats = await findStats(partOf(there));
  return stats?.isFile() && stats.size <= size ? stats.size : 0;
}

/**
 * Appends to the part of a file, and gives it its name once it is whole; false when it is not what
 * was listed, and nothing is left of it then.
 */
export async function receivePart(
  there: string,
  { mode, sha256 }: FileEntry,
  offset: number,
  chunks: AsyncIterable<Uint8Array>,
  moved: (at: number) => void,
): Promise<boolean> {
  const failed = cannotWrite(there);
  const part = partOf(there);
  const hash = createHash("sha256");
  if (offset > 0) await addTo(hash, part, offset);
  const file = await open(part, flagsFor(offset), 0o600).catch(failed);
  try {
    let at = offset;
    for await (const chunk of chunks) {
      await file.writeFile(chunk).catch(failed);
      hash.update(chunk);
      at += chunk.length;
      moved(at);
    }
  } finally {
    await file.close();
  }
  if (hash.digest("hex") !== sha256) {
    await rm(part).catch(failed);
    return false;
  }
  await chmod(part, mode).catch(failed);
  await rename(part, there).catch(failed);
  return true;
}

/** Nothing is written through a link that somebody put there. */
const flagsFor = (offset: number): number =>
  constants.O_WRONLY |
  constants.O_CREAT |
  constants.O_APPEND |
  constants.O_NOFOLLOW |
  (offset === 0 ? constants.O_TRUNC : 0);

async function addTo(hash: Hash, part: string, end: number): Promise<void> {
  for await (const chunk of createReadStream(part, { end: end - 1 })) hash.update(chunk);
}
