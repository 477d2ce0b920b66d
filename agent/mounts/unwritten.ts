import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { count } from "../../common/count.ts";
import { errorCodeOf, ifPossible } from "../../common/errors.ts";
import { bytesText } from "../../contract/sizes.ts";
import type { Agent } from "../context.ts";
import { cacheOf } from "./mount.ts";
import { listMountRows, type MountRow } from "./store.ts";

/** A file that was written to a mount and is not in its bucket yet. */
export interface Unwritten {
  /** The bucket and its path there: `s3://data/a.bin`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Another one once it was written to. */
  readonly version: string;
}

const pollMs = 200;
const namedAtMost = 5;
/** How often a note is read that is being written, and how long after each. */
const noteReads = 10;
const noteMs = 20;

/** What came of a wait for files to be written; undefined where there was nothing to wait for. */
export interface WriteBack {
  readonly written: readonly Unwritten[];
  readonly left: readonly Unwritten[];
}

/** How often a file changes during a wait that somebody else writes: the end of a job may bring a change itself. */
const changesOfOthers = 3;

/** What is waited for, and who else writes. */
interface WaitOptions {
  /** Those that count; all of this node by default. */
  readonly rows?: readonly MountRow[];
  readonly areOthersWriting?: () => boolean;
}

/**
 * Waits until what is written to mounts of this node is in their buckets, or until the signal. Files that keep
 * changing are not waited for where others write: they are theirs.
 */
export async function untilWrittenBack(
  agent: Agent,
  signal: AbortSignal,
  { rows, areOthersWriting = () => false }: WaitOptions = {},
): Promise<WriteBack | undefined> {
  let before = await listUnwritten(agent, rows);
  const versions = new Map(before.map(({ name, version }) => [name, new Set([version])]));
  for (;;) {
    const now = await listUnwritten(agent, rows);
    for (const { name, version } of now) versions.get(name)?.add(version);
    if (areOthersWriting())
      before = before.filter(({ name }) => (versions.get(name)?.size ?? 0) <= changesOfOthers);
    if (before.length === 0) return undefined;
    const names = new Set(now.map(({ name }) => name));
    const left = before.filter(({ name }) => names.has(name));
    if (left.length === 0 || signal.aborted)
      return { written: before.filter(({ name }) => !names.has(name)), left };
    await sleep(pollMs, undefined, { signal }).catch(() => {});
  }
}

/** What came of a wait, for people; what was not written is named. */
export function describeWriteBack({ written, left }: WriteBack): string {
  const names = left.slice(0, namedAtMost).map(({ name }) => name);
  const more = left.length > namedAtMost ? ` and ${left.length - namedAtMost} more` : "";
  const done = written.length > 0 ? [`${sumOf(written)} written to buckets`] : [];
  const rest = left.length > 0 ? [`${sumOf(left)} not written: ${names.join(", ")}${more}`] : [];
  return [...done, ...rest].join("; ");
}

const sumOf = (files: readonly Unwritten[]): string =>
  `${count(files.length, "file")} (${bytesText(files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0))})`;

/** Files whose bytes are on this node alone, in these mounts. */
export async function listUnwritten(
  agent: Agent,
  rows: readonly MountRow[] = listMountRows(agent),
): Promise<Unwritten[]> {
  const found = await Promise.all(rows.map((row) => unwrittenOf(agent, row)));
  return found.flat();
}

/** What rclone notes of each file in its cache. Source: rclone.org, "VFS File Caching"; its vfscache/item.go. */
async function unwrittenOf(agent: Agent, { order, root }: MountRow): Promise<Unwritten[]> {
  const cache = cacheOf(agent, root);
  const folder = join(cache, "vfsMeta", "bucket", order.bucket);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const notes = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      const { Dirty: isDirty, Size: sizeBytes } = await readNote(path);
      const key = path.slice(folder.length);
      if (!isDirty) return [];
      const version = await versionOf(join(cache, "vfs", "bucket", order.bucket, key));
      return [{ name: `${order.name}${key}`, sizeBytes, version }];
    }),
  );
  return notes.flat();
}

const versionOf = (path: string): Promise<string> =>
  stat(path).then(
    ({ size, mtimeMs }) => `${size} ${mtimeMs}`,
    () => "",
  );

interface Note {
  readonly Dirty: boolean;
  readonly Size: number;
}

/**
 * rclone empties a note to write it anew, so an empty one is read again. One that stays empty counts as that of a file
 * that is not written yet.
 */
async function readNote(path: string): Promise<Note> {
  for (let left = noteReads; left > 0; left -= 1) {
    const text = await readFile(path, "utf8").catch((error) =>
      errorCodeOf(error) === "ENOENT" ? undefined : "",
    );
    if (text === undefined) return { Dirty: false, Size: 0 };
    const note: Note | undefined = ifPossible(() => JSON.parse(text));
    if (note !== undefined) return note;
    await sleep(noteMs);
  }
  return { Dirty: true, Size: 0 };
}
