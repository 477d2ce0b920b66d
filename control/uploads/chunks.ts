import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorCodeOf, fail } from "../../common/errors.ts";
import { flush, makeFolder, orNothing } from "../../common/files.ts";

/** Which part of an upload it is. */
export interface Chunk {
  readonly uploadId: string;
  readonly index: number;
  readonly total: number;
}

const mostChunks = 100_000;
const wholeName = "whole.zip";

/** How many bytes may come before the room is looked at again. */
const lookEveryBytes = 16 * 1024 * 1024;

/** How many bytes the files of a folder have, but for those that are left out. */
export async function bytesIn(folder: string, isLeftOut = (_: string) => false): Promise<number> {
  let bytes = 0;
  for (const name of (await orNothing(readdir(folder))) ?? []) {
    const stats = isLeftOut(name) ? undefined : await orNothing(stat(join(folder, name)));
    if (stats?.isFile()) bytes += stats.size;
  }
  return bytes;
}

/** How many bytes have come of all uploads of a folder that are not complete yet. */
export async function bytesOfParts(parts: string): Promise<number> {
  let bytes = 0;
  for (const id of (await orNothing(readdir(parts))) ?? []) bytes += await bytesIn(join(parts, id));
  return bytes;
}

/** Keeps one part of an upload, while there is room; the names of the parts that are not there yet. */
export async function keepChunk(
  folder: string,
  { index, total }: Chunk,
  body: Readable,
  refuseFull: () => Promise<void>,
): Promise<string[]> {
  if (index >= total || total > mostChunks)
    fail("ValueError", `there is no chunk ${index} of ${total}; chunks are numbered from 0`);
  // A client that hangs up while nobody reads would otherwise end control.
  body.on("error", () => {});
  await makeFolder(folder);
  const draft = join(folder, `${randomUUID()}.new`);
  try {
    await writeWithin(draft, body, refuseFull);
    await rename(draft, join(folder, nameOf(index)));
  } catch (error) {
    // Who sends it hears why only when all is read.
    body.resume();
    await rm(draft, { force: true });
    if (["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"].includes(errorCodeOf(error) ?? ""))
      fail("ValueError", "the client disconnected during the upload");
    throw error;
  }
  const there = new Set(await readdir(folder));
  if (there.has(wholeName)) return [];
  return Array.from({ length: total }, (_, at) => nameOf(at)).filter((name) => !there.has(name));
}

async function writeWithin(path: string, body: Readable, refuseFull: () => Promise<void>) {
  await using file = await open(path, "wx", 0o600);
  let unseen = 0;
  for await (const piece of body.iterator({ destroyOnReturn: false })) {
    await file.writeFile(piece);
    unseen += piece.length;
    if (unseen < lookEveryBytes) continue;
    await refuseFull();
    unseen = 0;
  }
  await refuseFull();
  await file.sync();
}

/** All parts in one file. Repeated after it broke off, also by a power loss, it makes the same. */
export async function joinChunks(folder: string, total: number): Promise<string> {
  const whole = join(folder, wholeName);
  if (existsSync(whole)) return whole;
  if (total === 1) {
    await rename(join(folder, nameOf(0)), whole);
    return whole;
  }
  const draft = join(folder, `${wholeName}.new`);
  await rm(draft, { force: true });
  for (let index = 0; index < total; index += 1) {
    const out = createWriteStream(draft, { flags: "a", mode: 0o600 });
    await pipeline(createReadStream(join(folder, nameOf(index))), out);
  }
  await flush(draft);
  await rename(draft, whole);
  await flush(folder);
  for (let index = 0; index < total; index += 1) await rm(join(folder, nameOf(index)));
  return whole;
}

const nameOf = (index: number): string => `part${index}`;
