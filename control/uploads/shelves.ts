import type { Dirent } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { orNothing } from "../../common/files.ts";
import { readManifest } from "../buckets/manifest.ts";
import { type Shelf, shelfOf } from "./folders.ts";

const hourMs = 3_600_000;
/** How long a blob is kept after it was last asked for, or what came without one. */
const blobMs = 24 * hourMs;
/** How long an upload may take a break, and a content is kept that no manifest names yet. */
const unfinishedMs = hourMs;

/** Deletes what was not used for long enough from the files of every user. */
export async function collectShelves(
  root: string,
  blobsInUse: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  for (const { name } of await list(root)) {
    const shelf = shelfOf(root, decodeURIComponent(name));
    const isOlder = async (file: string, ms: number) =>
      now.getTime() - (await changedAt(file)) > ms;
    let dropped = 0;
    for (const part of await list(shelf.parts)) {
      if (!(await isOlder(join(shelf.parts, part.name), unfinishedMs))) continue;
      await rm(join(shelf.parts, part.name), { recursive: true, force: true });
      // A crash may have left contents of it that no manifest names.
      dropped += 1;
    }
    for (const file of await manifestsOf(shelf, blobsInUse)) {
      if (!(await isOlder(file, blobMs))) continue;
      await rm(file, { force: true });
      dropped += 1;
    }
    if (dropped > 0) await dropContents(shelf, (file) => isOlder(file, unfinishedMs));
  }
}

async function manifestsOf(shelf: Shelf, blobsInUse: ReadonlySet<string>): Promise<string[]> {
  const blobs = (await list(shelf.blobs)).filter(({ name }) => !blobsInUse.has(name));
  return [...blobs.map(({ name }) => join(shelf.blobs, name)), shelf.merged];
}

/** Deletes contents that no manifest names any more. */
async function dropContents(shelf: Shelf, isOld: (file: string) => Promise<boolean>) {
  const named = new Set<string>();
  const blobs = (await list(shelf.blobs)).map(({ name }) => join(shelf.blobs, name));
  for (const file of [...blobs, shelf.merged])
    for (const entry of (await readManifest(file)) ?? [])
      if (entry.kind === "file") named.add(entry.sha256);
  for (const { name } of await list(shelf.contents)) {
    const file = join(shelf.contents, name);
    if (!named.has(name) && (await isOld(file))) await rm(file, { force: true });
  }
}

const list = async (folder: string): Promise<Dirent[]> =>
  (await orNothing(readdir(folder, { withFileTypes: true }))) ?? [];

/** When a file was last counted as used; one that is gone meanwhile is as new as can be. */
const changedAt = async (file: string): Promise<number> =>
  (await orNothing(stat(file)))?.mtimeMs ?? Number.POSITIVE_INFINITY;
