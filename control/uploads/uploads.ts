import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { Readable } from "node:stream";
import { fail } from "../../common/errors.ts";
import { diskFull, isNoRoom, makeFolder, spareBytes } from "../../common/files.ts";
import { paced } from "../../common/loop.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import { blobIdOf } from "../../contract/blob-id.ts";
import type { Entry } from "../../contract/files-api.ts";
import type { UploadZipFileResponse } from "../../contract/records/uploads.ts";
import {
  type Manifest,
  openManifest,
  readManifest,
  renew,
  writeManifest,
} from "../buckets/manifest.ts";
import { type Archive, type Limits, readArchive } from "./archive.ts";
import { bytesIn, bytesOfParts, type Chunk, joinChunks, keepChunk } from "./chunks.ts";
import { addContents, keepContent } from "./contents.ts";
import { manifestOf, type Shelf, shelfOf } from "./folders.ts";
import { collectShelves } from "./shelves.ts";

/** The files that users sent for their tasks. */
export interface Uploads {
  /** Whether a user's blob is here; asking keeps it for longer. */
  hasBlob(userId: string, blobId: string): Promise<boolean>;
  /** Takes a chunk; the last one has the archive unpacked. `blobId` null adds to what the user sent before. */
  take(userId: string, blobId: string | null, chunk: Chunk, body: Readable): Promise<Progress>;
  /** What a blob holds, by whole paths without the slash in front; undefined when it is not here. */
  open(userId: string, blobId: string | null): Promise<Manifest | undefined>;
  /** Keeps what a user sent without a blob's id as it now is, as a blob; its id, undefined when nothing came. */
  keepMerged(userId: string): Promise<string | undefined>;
  /** The file that has a content. */
  contentOf(userId: string, sha256: string): string;
  /** Deletes what was not used for a while and is in none of these blobs. */
  collect(blobsInUse: ReadonlySet<string>): Promise<void>;
}

type Progress = UploadZipFileResponse;

const archiveLimits = {
  entries: 1_000_000,
  modestBytes: 256 * 1024 * 1024,
  ratio: 200,
} satisfies Omit<Limits, "bytes">;

const completed: Progress = { status: "completed", missing_chunks: null };

/**
 * Keeps uploads below a folder that has one of its own for each user, who has at most `quotaBytes` of contents
 * there, and of parts of uploads that are not complete yet: what those add is known once they are unpacked.
 */
export function openUploads(
  root: string,
  now: () => Date,
  quotaBytes = Number.POSITIVE_INFINITY,
): Uploads {
  /** One archive of a user at a time, in their order. */
  const inTurn = openTurnsByKey<string>();

  async function refuseFull({ parts }: Shelf): Promise<void> {
    if ((await spareBytes(root)) === 0) throw diskFull(undefined);
    if (quotaBytes === Number.POSITIVE_INFINITY) return;
    if ((await bytesOfParts(parts)) > quotaBytes) refuseQuota(quotaBytes);
  }

  return {
    hasBlob: (userId, blobId) => renew(manifestOf(shelfOf(root, userId), blobId), now()),
    async take(userId, blobId, chunk, body) {
      const shelf = shelfOf(root, userId);
      const folder = join(shelf.parts, chunk.uploadId);
      const refuse = () => refuseFull(shelf);
      await refuse();
      const missing = await keepChunk(folder, chunk, body, refuse).catch(tellFull);
      if (missing.length > 0) return { status: "uploading", missing_chunks: missing };
      const whole = { folder, total: chunk.total };
      await inTurn(userId, () => unpack(shelf, blobId, whole, { now, quotaBytes })).catch(tellFull);
      return completed;
    },
    async open(userId, blobId) {
      const file = manifestOf(shelfOf(root, userId), blobId);
      return (await renew(file, now())) ? openManifest(file) : undefined;
    },
    keepMerged: (userId) => inTurn(userId, () => keepMerged(shelfOf(root, userId), now)),
    contentOf: (userId, sha256) => join(shelfOf(root, userId).contents, sha256),
    collect: (blobsInUse) => collectShelves(root, blobsInUse, now()),
  };
}

const refuseQuota = (quotaBytes: number): never =>
  fail(
    "TooLargeError",
    `your uploaded files would take more than the ${Math.floor(quotaBytes / 2 ** 20)} MB that a user has; ` +
      "those that no cluster, job or service needs are deleted after a day",
  );

/** What is sent later changes nothing of it. */
async function keepMerged(shelf: Shelf, now: () => Date): Promise<string | undefined> {
  const merged = await openManifest(shelf.merged);
  if (merged === undefined) return undefined;
  await renew(shelf.merged, now());
  const file = manifestOf(shelf, merged.digest);
  if (await renew(file, now())) return merged.digest;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeManifest(file, await merged.entries());
  return merged.digest;
}

/** Unpacks a complete archive, unless that was done since its last chunk came. */
async function unpack(
  shelf: Shelf,
  blobId: string | null,
  { folder, total }: { folder: string; total: number },
  { now, quotaBytes }: { now: () => Date; quotaBytes: number },
): Promise<void> {
  const file = manifestOf(shelf, blobId);
  if (!existsSync(folder) && existsSync(file)) return;
  if (!existsSync(folder)) fail("ValueError", "the upload could not be unpacked; send it again");
  // Of an archive that is refused nothing reaches the contents that others share.
  const fresh = join(folder, "contents");
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  for (const path of [shelf.contents, dirname(file)]) await makeFolder(path);
  try {
    const whole = await joinChunks(folder, total);
    const limits = { ...archiveLimits, bytes: await spareBytes(shelf.contents) };
    const archive = await readArchive(whole, limits, (bytes) => keepContent(fresh, bytes));
    if (blobId !== null) checkId(blobId, archive);
    const before = blobId === null ? ((await readManifest(file)) ?? []) : [];
    const entries = await merge(before, archive.entries);
    const isKnown = (sha256: string) => existsSync(join(shelf.contents, sha256));
    if ((await bytesIn(fresh, isKnown)) + (await bytesIn(shelf.contents)) > quotaBytes)
      refuseQuota(quotaBytes);
    await addContents(fresh, shelf.contents, now);
    await writeManifest(file, entries);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** An id stands for what is in a blob: whoever asks for it later must find just that. */
function checkId(blobId: string, { members }: Archive): void {
  if (blobIdOf(members, "modes") === blobId || blobIdOf(members, "contents") === blobId) return;
  fail("ValueError", "the archive does not match its blob id; send it again");
}

function tellFull(error: unknown): never {
  throw isNoRoom(error) ? diskFull(error) : error;
}

/** What was there and is not in the way of what came: each upload has its folders whole. */
async function merge(before: readonly Entry[], come: ReadonlyMap<string, Entry>): Promise<Entry[]> {
  if (before.length === 0) return [...come.values()];
  const folders = new Set<string>();
  for await (const path of paced(come.keys()))
    for (const above of pathsAbove(path)) folders.add(above);
  const isInTheWay = ({ kind, path }: Entry) =>
    come.has(path) ||
    (kind !== "folder" && folders.has(path)) ||
    pathsAbove(path).some((above) => come.has(above));
  const merged: Entry[] = [];
  for await (const entry of paced(before)) if (!isInTheWay(entry)) merged.push(entry);
  if (merged.length + come.size > archiveLimits.entries)
    fail("TooLargeError", `a user has at most ${archiveLimits.entries} files without a blob id`);
  return [...merged, ...come.values()];
}

function pathsAbove(path: string): string[] {
  const above: string[] = [];
  for (let up = posix.dirname(path); up !== "."; up = posix.dirname(up)) above.push(up);
  return above;
}
