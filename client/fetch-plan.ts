import { readlink } from "node:fs/promises";
import { join, posix } from "node:path";
import { fail } from "../common/errors.ts";
import { fileDigestOf } from "../common/files.ts";
import { type Entry, type FileEntry, Listed, leadsOut } from "../contract/files-api.ts";
import { parseLine } from "../contract/frames.ts";
import { findStats } from "./local-files.ts";

type Link = Extract<Entry, { kind: "link" }>;

/** What must be done so that a place here is what a node listed; all else that lies there stays. */
export interface FetchPlan {
  /** Where the listed paths begin; itself a file where one was listed. */
  readonly root: string;
  /** How many files and links come along, or are here already. */
  readonly listed: number;
  readonly folders: readonly string[];
  /** Files whose content is another one here, or none. */
  readonly files: readonly FileEntry[];
  /** Files that need other permissions alone. */
  readonly modes: readonly FileEntry[];
  readonly links: readonly Link[];
  readonly left: readonly LeftOut[];
}

/** What does not come along, and why. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/** Where what is listed goes, by what it is: a file and a folder are named differently. */
export type Target = (kind: Listed["kind"]) => Promise<string>;

/**
 * Compares a place here with the lines of a node's list. Throws `ConflictError` where something else
 * is in the way, and `ValueError` for a list that leads out of its folder.
 */
export async function planFetch(
  lines: AsyncIterable<string>,
  target: Target,
  heard: (listed: number) => void,
): Promise<FetchPlan> {
  let plan: Draft | undefined;
  for await (const line of lines) {
    const entry = parseLine(Listed, line) ?? refuse(line);
    plan ??= openDraft(await target(entry.kind));
    await consider(plan, entry);
    heard(plan.listed);
  }
  return plan ?? fail("RuntimeError", "the node listed nothing; ask again");
}

interface Draft extends FetchPlan {
  listed: number;
  readonly folders: string[];
  readonly files: FileEntry[];
  readonly modes: FileEntry[];
  readonly links: Link[];
  readonly left: LeftOut[];
  /** Every path that was listed, and whether something may lie below it. */
  readonly seen: Map<string, boolean>;
}

const openDraft = (root: string): Draft => ({
  root,
  listed: 0,
  folders: [],
  files: [],
  modes: [],
  links: [],
  left: [],
  seen: new Map(),
});

const refuse = (what: string): never =>
  fail("ValueError", `the node sent a list that cannot be trusted: ${what.slice(0, 200)}`);

async function consider(plan: Draft, entry: Listed): Promise<void> {
  const { kind, path } = entry;
  if (kind === "unreadable") return void plan.left.push(entry);
  checkPlace(plan.seen, entry);
  if (kind === "folder") return considerFolder(plan, path);
  if (kind === "link" && leadsOut(entry))
    return void plan.left.push({ path, why: `it is a link out, to ${entry.target}` });
  plan.listed += 1;
  return kind === "file" ? considerFile(plan, entry) : considerLink(plan, entry);
}

/** Each path comes once, and after the folder that it is in: nothing is put through a link. */
function checkPlace(seen: Map<string, boolean>, { kind, path }: Entry): void {
  const above = posix.dirname(path);
  const isFirst = path === "" && seen.size === 0;
  if (seen.has(path) || !(isFirst || seen.get(above === "." ? "" : above))) refuse(path);
  seen.set(path, kind === "folder");
}

async function considerFolder(plan: Draft, path: string): Promise<void> {
  const there = join(plan.root, path);
  const stats = await findStats(there);
  if (stats === undefined) plan.folders.push(path);
  else if (!stats.isDirectory()) inTheWay(there, "a folder");
}

async function considerFile(plan: Draft, entry: FileEntry): Promise<void> {
  const there = join(plan.root, entry.path);
  const stats = await findStats(there);
  if (stats?.isDirectory()) inTheWay(there, "a file");
  if (!stats?.isFile() || stats.size !== entry.size || (await fileDigestOf(there)) !== entry.sha256)
    plan.files.push(entry);
  else if ((stats.mode & 0o777) !== entry.mode) plan.modes.push(entry);
}

async function considerLink(plan: Draft, entry: Link): Promise<void> {
  const there = join(plan.root, entry.path);
  const stats = await findStats(there);
  if (stats?.isDirectory()) inTheWay(there, "a link");
  if (stats?.isSymbolicLink() && (await readlink(there)) === entry.target) return;
  plan.links.push(entry);
}

const inTheWay = (there: string, wanted: string): never =>
  fail("ConflictError", `${there} is in the way of ${wanted}; move it, or download elsewhere`);
