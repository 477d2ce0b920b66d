import { createHash, hash, randomUUID } from "node:crypto";
import { createWriteStream, writeFileSync } from "node:fs";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { flush } from "../../common/files.ts";
import { workThrough } from "../../common/turns.ts";
import type { Content } from "../../contract/files-api.ts";
import { renew } from "../buckets/manifest.ts";

/** Flushes that wait for the disk at the same time: a file system carries several out together. */
const flushedAtOnce = 16;

/** Writes a content into a folder, under its digest. A partly written one is discarded: `unpack` empties the folder first. */
export async function keepContent(folder: string, bytes: Readable | Buffer): Promise<Content> {
  if (!Buffer.isBuffer(bytes)) return keepStream(folder, bytes);
  const sha256 = hash("sha256", bytes);
  writeFileSync(join(folder, sha256), bytes, { mode: 0o600 });
  return { sha256, size: bytes.length };
}

async function keepStream(folder: string, bytes: Readable): Promise<Content> {
  const draft = join(folder, `${randomUUID()}.new`);
  const digest = createHash("sha256");
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      digest.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(bytes, count, createWriteStream(draft, { mode: 0o600 }));
  const sha256 = digest.digest("hex");
  await rename(draft, join(folder, sha256));
  return { sha256, size };
}

/** Adds the contents of a folder to those that a user has; they are on disk when this resolves. */
export async function addContents(from: string, to: string, now: () => Date): Promise<void> {
  await workThrough(await readdir(from), flushedAtOnce, async (name) => {
    if (await renew(join(to, name), now())) return;
    await flush(join(from, name));
    await rename(join(from, name), join(to, name));
  });
  await flush(to);
}
