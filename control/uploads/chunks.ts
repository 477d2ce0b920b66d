import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { errorCodeOf, fail } from "../../common/errors.ts";
import { flush, makeFolder } from "../../common/files.ts";
import { orNothing } from "../buckets/manifest.ts";

/** Which part of an upload it is. */
export interface Chunk {
  readonly uploadId: string;
  readonly index: number;
  readonly total: number;
}

const mostChunks = 100_000;
const wholeName = "whole.zip";

/** How many bytes of an upload have come. */
export async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of (await orNothing(readdir(folder))) ?? [])
    bytes += (await orNothing(stat(join(folder, name))))?.size ?? 0;
  return bytes;
}

/** Keeps one part of an upload; the names of the parts that are not there yet. */
export async function keepChunk(
  folder: string,
  { index, total }: Chunk,
  body: Readable,
): Promise<string[]> {
  if (index >= total || total > mostChunks)
    fail("ValueError", `there is no chunk ${index} of ${total}; chunks are numbered from 0`);
  await makeFolder(folder);
  const draft = join(folder, `${randomUUID()}.new`);
  try {
    await pipeline(body, createWriteStream(draft, { mode: 0o600, flush: true }));
    await rename(draft, join(folder, nameOf(index)));
  } catch (error) {
    await rm(draft, { force: true });
    if (["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE"].includes(errorCodeOf(error) ?? ""))
      fail("ValueError", "the client disconnected during the upload");
    throw error;
  }
  const there = new Set(await readdir(folder));
  if (there.has(wholeName)) return [];
  return Array.from({ length: total }, (_, at) => nameOf(at)).filter((name) => !there.has(name));
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
