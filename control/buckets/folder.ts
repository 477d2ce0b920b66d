import { copyFile, link, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCodeOf } from "../../common/errors.ts";
import { flush, orNothing } from "../../common/files.ts";
import { openTurnsByKey } from "../../common/turns.ts";
import type { Entry } from "../../contract/files-api.ts";
import { readManifest, writeManifest } from "./manifest.ts";

/** Buckets in control's own folder: contents by their digest, and a list of what lies where. */

/** One change of a bucket at a time. */
const inTurn = openTurnsByKey<string>();

const rootOf = (home: string): string => join(home, "storage");
const manifestOf = (home: string, id: string): string => join(rootOf(home), id, "manifest");

/** What a bucket holds. */
export const readFolder = async (home: string, id: string): Promise<Entry[]> =>
  (await readManifest(manifestOf(home, id))) ?? [];

/** The file that has a content of a bucket. */
export const contentIn = (home: string, id: string, sha256: string): string =>
  join(rootOf(home), id, "contents", sha256);

/** Adds files to a bucket, in place of those at the same paths; they are on disk when this resolves. */
export function addToFolder(
  home: string,
  id: string,
  entries: readonly Entry[],
  fileOf: (content: { readonly sha256: string }) => string,
): Promise<void> {
  return inTurn(id, async () => {
    const contents = dirname(contentIn(home, id, "x"));
    await mkdir(contents, { recursive: true, mode: 0o700 });
    for (const entry of entries)
      if (entry.kind === "file") await addContent(fileOf(entry), contentIn(home, id, entry.sha256));
    await flush(contents);
    const before = await readFolder(home, id);
    const after = new Map([...before, ...entries].map((entry) => [entry.path, entry]));
    await writeManifest(manifestOf(home, id), after.values());
    await flush(rootOf(home));
  });
}

/** Deletes a bucket with all that is in it. */
export const removeFolder = (home: string, id: string): Promise<void> =>
  inTurn(id, () => rm(join(rootOf(home), id), { recursive: true, force: true }));

/** The ids of all buckets that have a folder. */
export const listFolders = async (home: string): Promise<string[]> =>
  (await orNothing(readdir(rootOf(home)))) ?? [];

/** A content that is on the same disk takes no further room. */
async function addContent(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (errorCodeOf(error) === "EEXIST") return;
    if (!["EXDEV", "EMLINK", "EPERM"].includes(errorCodeOf(error) ?? "")) throw error;
    await copyFile(from, `${to}.new`);
    await flush(`${to}.new`);
    await rm(to, { force: true });
    await link(`${to}.new`, to);
    await rm(`${to}.new`);
  }
}
