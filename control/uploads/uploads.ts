import { createHash, randomUUID } from "node:crypto";
import { createWriteStream, existsSync } from "node:fs";
import { mkdir, rename, rm, statfs } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import type { Content, Entry } from "../../contract/files-api.ts";
import type { UploadZipFileResponse } from "../../contract/records/uploads.ts";
import { readArchive } from "./archive.ts";
import { type Chunk, joinChunks, keepChunk } from "./chunks.ts";
import { collectShelves } from "./collect.ts";
import { manifestOf, readManifest, renew, type Shelf, shelfOf, writeManifest } from "./folders.ts";

/** The files that users sent for their tasks. */
export interface Uploads {
  /** Whether a user's blob is here; asking keeps it for longer. */
  hasBlob(userId: string, blobId: string): Promise<boolean>;
  /** Takes a chunk; the last one has the archive unpacked. `blobId` null adds to what the user sent before. */
  take(userId: string, blobId: string | null, chunk: Chunk, body: Readable): Promise<Progress>;
  /** What a blob holds, by whole paths without the slash in front; undefined when it is not here. */
  read(userId: string, blobId: string | null): Promise<Entry[] | undefined>;
  /** Keeps what a user sent without a blob's id as it now is, as a blob; its id, undefined when nothing came. */
  keepMerged(userId: string): Promise<string | undefined>;
  /** The file that has a content. */
  contentOf(userId: string, sha256: string): string;
  /** Deletes what was not used for a while and is in none of these blobs. */
  collect(blobsInUse: ReadonlySet<string>): Promise<void>;
}

type Progress = UploadZipFileResponse;

const mostEntries = 1_000_000;
/** What is left free of the disk. */
const reserveBytes = 256 * 1024 * 1024;

const completed: Progress = { status: "completed", missing_chunks: null };

/** Keeps uploads below a folder that has one of its own for each user. */
export function openUploads(root: string, now: () => Date): Uploads {
  const unpacking = new Map<string, Promise<void>>();

  /** One archive of a user at a time, in their order. */
  function inTurn<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const turn = (unpacking.get(userId) ?? Promise.resolve()).then(work);
    const settled = turn.then(
      () => {},
      () => {},
    );
    unpacking.set(userId, settled);
    void settled.then(() => {
      if (unpacking.get(userId) === settled) unpacking.delete(userId);
    });
    return turn;
  }

  async function hasBlob(userId: string, blobId: string): Promise<boolean> {
    return renew(manifestOf(shelfOf(root, userId), blobId), now());
  }

  return {
    hasBlob,
    async take(userId, blobId, chunk, body) {
      const shelf = shelfOf(root, userId);
      if (blobId !== null && (await hasBlob(userId, blobId))) {
        body.resume();
        return completed;
      }
      const folder = join(shelf.parts, chunk.uploadId);
      const missing = await keepChunk(folder, chunk, body).catch(tellFull);
      if (missing.length > 0) return { status: "uploading", missing_chunks: missing };
      const whole = { folder, total: chunk.total };
      await inTurn(userId, () => unpack(shelf, blobId, whole, now)).catch(tellFull);
      return completed;
    },
    async read(userId, blobId) {
      const file = manifestOf(shelfOf(root, userId), blobId);
      return (await renew(file, now())) ? readManifest(file) : undefined;
    },
    keepMerged: (userId) => inTurn(userId, () => keepMerged(shelfOf(root, userId), now)),
    contentOf: (userId, sha256) => join(shelfOf(root, userId).contents, sha256),
    collect: (blobsInUse) => collectShelves(root, blobsInUse, now()),
  };
}

/** What is sent later changes nothing of it. */
async function keepMerged(shelf: Shelf, now: () => Date): Promise<string | undefined> {
  const entries = await readManifest(shelf.merged);
  if (entries === undefined) return undefined;
  await renew(shelf.merged, now());
  const blobId = createHash("sha256").update(JSON.stringify(entries)).digest("hex");
  const file = manifestOf(shelf, blobId);
  if (await renew(file, now())) return blobId;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeManifest(file, entries);
  return blobId;
}

/** Unpacks a complete archive, unless that was done since its last chunk came. */
async function unpack(
  shelf: Shelf,
  blobId: string | null,
  { folder, total }: { folder: string; total: number },
  now: () => Date,
): Promise<void> {
  const file = manifestOf(shelf, blobId);
  if (!existsSync(folder) && existsSync(file)) return;
  if (!existsSync(folder)) fail("ValueError", "the upload could not be unpacked; send it again");
  await mkdir(shelf.contents, { recursive: true, mode: 0o700 });
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  try {
    const whole = await joinChunks(folder, total);
    const { bavail, bsize } = await statfs(shelf.contents);
    const limits = { entries: mostEntries, bytes: Math.max(0, bavail * bsize - reserveBytes) };
    const entries = await readArchive(whole, limits, (bytes) => keepContent(shelf, bytes, now));
    const before = blobId === null ? ((await readManifest(file)) ?? []) : [];
    await writeManifest(file, merge(before, entries));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function tellFull(error: unknown): never {
  if (!["ENOSPC", "EDQUOT"].includes(errorCodeOf(error) ?? "")) throw error;
  throw new AppError("RuntimeError", "the disk of control is full", {}, error);
}

/** Writes a content down under its digest. */
async function keepContent(shelf: Shelf, bytes: Readable, now: () => Date): Promise<Content> {
  const draft = join(shelf.contents, `${randomUUID()}.new`);
  const hash = createHash("sha256");
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  try {
    await pipeline(bytes, count, createWriteStream(draft, { mode: 0o600 }));
    const sha256 = hash.digest("hex");
    const file = join(shelf.contents, sha256);
    if (await renew(file, now())) await rm(draft);
    else await rename(draft, file);
    return { sha256, size };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** What was there and is not in the way of what came: each upload has its folders whole. */
function merge(before: readonly Entry[], come: ReadonlyMap<string, Entry>): Entry[] {
  const folders = new Set([...come.keys()].flatMap(pathsAbove));
  const isInTheWay = ({ kind, path }: Entry) =>
    come.has(path) ||
    (kind !== "folder" && folders.has(path)) ||
    pathsAbove(path).some((above) => come.has(above));
  return [...before.filter((entry) => !isInTheWay(entry)), ...come.values()];
}

function pathsAbove(path: string): string[] {
  const above: string[] = [];
  for (let up = posix.dirname(path); up !== "."; up = posix.dirname(up)) above.push(up);
  return above;
}
