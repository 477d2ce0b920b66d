import { lstatSync, type Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { errorCodeOf } from "../../common/errors.ts";
import { fileDigestOf } from "../../common/files.ts";
import type { Entry, FileEntry } from "../../contract/files-api.ts";
import { type FileIndex, type Placed, stampOf } from "./ledger.ts";

/** What must be done so that a destination is what a manifest says. */
export interface FilePlan {
  readonly folders: readonly string[];
  /** Files whose content is another one there, or none. */
  readonly files: readonly FileEntry[];
  /** Files that need other permissions alone. */
  readonly modes: readonly FileEntry[];
  readonly links: readonly Extract<Entry, { kind: "link" }>[];
  /** What an earlier offer put there and nobody changed since. */
  readonly removals: readonly Placed[];
  /** What is there already, with how it looks. */
  readonly kept: readonly Placed[];
}

type Verdict = "write" | "mode" | Placed;

/** So many files are looked at side by side. */
const atOnce = 64;

/**
 * Compares a destination with a manifest; reads only files that changed since the last offer. On the node's own disk
 * it waits for no look at a file: each wait costs more than the look.
 */
export async function planFiles(
  root: string,
  manifest: ReadonlyMap<string, Entry>,
  index: FileIndex,
  isOnOwnDisk = false,
): Promise<FilePlan> {
  const entries = [...manifest.values()];
  const find = isOnOwnDisk ? findStatsNow : findStats;
  const verdicts = await inBatches(entries, (entry) => {
    const path = join(root, entry.path);
    const judge = (stats: Stats | undefined) => look(path, stats, entry, index.get(entry.path));
    const found = find(path);
    return found instanceof Promise ? found.then(judge) : judge(found);
  });
  const those = (wanted: Verdict) => entries.filter((_, at) => verdicts[at] === wanted);
  const written = those("write");
  const gone = [...index.values()].filter(({ path }) => !manifest.has(path));
  const removals = await inBatches(gone, async (placed) =>
    (await isUntouched(root, placed)) ? [placed] : [],
  );
  return {
    folders: written.filter(({ kind }) => kind === "folder").map(({ path }) => path),
    files: written.filter((entry) => entry.kind === "file"),
    modes: those("mode").filter((entry) => entry.kind === "file"),
    links: written.filter((entry) => entry.kind === "link"),
    removals: removals.flat(),
    kept: verdicts.filter((verdict) => typeof verdict !== "string"),
  };
}

/** What says that nothing is at a path; a mount whose program ended hides whatever there was. */
const isAbsence = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR", "ENOTCONN"].includes(errorCodeOf(error) ?? "");

/** How a path looks without following it; undefined where nothing is. */
export async function findStats(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: unknown) => {
    if (isAbsence(error)) return undefined;
    throw error;
  });
}

function findStatsNow(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Waits only where something must be read: of many files, to wait for each costs more than to look. */
function look(
  path: string,
  stats: Stats | undefined,
  entry: Entry,
  known: Placed | undefined,
): Verdict | Promise<Verdict> {
  if (stats === undefined) return "write";
  if (entry.kind === "folder") return stats.isDirectory() ? { ...entry, stamp: null } : "write";
  if (entry.kind === "link")
    return isLinkTo(path, stats, entry.target).then((isSame) =>
      isSame ? { ...entry, stamp: null } : "write",
    );
  const { kind, path: name, size, mode, sha256 } = entry;
  const stamp = stampOf(stats);
  const judge = (isSame: boolean): Verdict => {
    if (!isSame) return "write";
    return (stats.mode & 0o777) === mode ? { kind, path: name, size, mode, sha256, stamp } : "mode";
  };
  const found = holds(path, stats, entry, known, stamp);
  return typeof found === "boolean" ? judge(found) : found.then(judge);
}

/** Whether a file has a content; one that looks as it was left need not be read. */
function holds(
  path: string,
  stats: Stats,
  { sha256, size }: FileEntry,
  known: Placed | undefined,
  stamp = stampOf(stats),
): boolean | Promise<boolean> {
  if (!stats.isFile() || stats.size !== size) return false;
  if (known?.kind === "file" && known.stamp === stamp) return known.sha256 === sha256;
  return fileDigestOf(path).then((digest) => digest === sha256);
}

const isLinkTo = async (path: string, stats: Stats, target: string): Promise<boolean> =>
  stats.isSymbolicLink() && (await readlink(path)) === target;

/** Whether what we put at a path is still that. A folder goes only once it is empty. */
export async function isUntouched(root: string, placed: Placed): Promise<boolean> {
  const path = join(root, placed.path);
  const stats = await findStats(path);
  if (stats === undefined) return false;
  if (placed.kind === "folder") return stats.isDirectory();
  if (placed.kind === "link") return isLinkTo(path, stats, placed.target);
  return holds(path, stats, placed, placed);
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result | Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    // Others have their turn, also where nothing is waited for.
    await setImmediate();
    results.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return results;
}
