import { unlink } from "node:fs/promises";
import { join } from "node:path";
import { fail } from "../../common/errors.ts";
import { type Content, Entry, type FilesOffered } from "../../contract/files-api.ts";
import { linesOf, parseLine } from "../../contract/frames.ts";
import type { Agent } from "../context.ts";
import { countActivity } from "../idle.ts";
import { refuseWhileLeaving } from "../lifecycles/lifecycles.ts";
import { isMounted, makeWayForFiles } from "../mounts/leave.ts";
import { openActivity } from "./activity.ts";
import { applyFiles } from "./apply.ts";
import { dropOldContents, hasContent, receiveContents } from "./contents.ts";
import { destinationOf } from "./destinations.ts";
import {
  type FileIndex,
  findShared,
  isWithin,
  type Known,
  type Placed,
  readIndex,
  stampOf,
  withRealParent,
  writeIndex,
} from "./ledger.ts";
import { type FilePlan, findStats, isUntouched, planFiles } from "./plan.ts";
import { inTurn } from "./turns.ts";

type Manifest = ReadonlyMap<string, Entry>;

interface Offer {
  readonly manifest: Manifest;
  /** By which the manifest can be offered again without being sent. */
  readonly digest?: string | undefined;
}

/** Makes a destination what a manifest says; where contents are missing it says which, and does nothing. */
export async function offerFiles(
  agent: Agent,
  { destination, manifest: digest }: { destination: string; manifest?: string | undefined },
  body: AsyncIterable<Uint8Array>,
): Promise<FilesOffered> {
  return offerEntries(agent, destination, await readManifest(body), digest);
}

/** The same with the manifest that was brought there last. Throws `NotFoundError` when it is another one. */
export const offerAgain = (
  agent: Agent,
  { destination, manifest: digest }: { destination: string; manifest: string },
): Promise<FilesOffered> =>
  inTurn(agent, async () => {
    const root = destinationOf(agent, destination);
    const known = await readIndex(agent, root);
    if (known.manifest !== digest) fail("NotFoundError", `${root} was brought other files last`);
    return take(agent, root, { manifest: known.index, digest }, known);
  });

/** The same of entries that need no contents. */
export const offerEntries = (
  agent: Agent,
  destination: string,
  manifest: Manifest,
  digest?: string,
): Promise<FilesOffered> =>
  inTurn(agent, () => take(agent, destinationOf(agent, destination), { manifest, digest }));

/** Takes contents that an offer lacked. */
export const takeContents = (agent: Agent, body: AsyncIterable<Uint8Array>) =>
  receiveContents(agent, body, openActivity(agent));

/** Leaves of a destination what is not ours: an empty folder, where nobody else has put something. */
export const clearFiles = (agent: Agent, root: string): Promise<FilesOffered> =>
  take(agent, root, { manifest: new Map([["", { kind: "folder", path: "" }]]) });

async function take(
  agent: Agent,
  root: string,
  { manifest, digest }: Offer,
  before?: Known,
): Promise<FilesOffered> {
  refuseWhileLeaving(agent);
  countActivity(agent);
  await makeWayForFiles(agent, root, manifest.values());
  const known = before ?? (await readIndex(agent, root));
  const index = await withoutOthers(agent, root, { manifest, index: known.index });
  if (manifest.get("")?.kind !== "link") await detach(root, index.get(""));
  const isOnOwnDisk = isWithin(withRealParent(agent.config.workdir), root);
  const plan = await planFiles(root, manifest, index, isOnOwnDisk);
  const missing = missingFor(agent, plan);
  const isTrue = known.manifest === digest && isTrueAlready(manifest, index, plan);
  if (missing.length === 0 && !isTrue)
    await carryOut(agent, root, { manifest, digest, index, plan });
  return { missing, ...countsOf(manifest, plan) };
}

/** Forgets what would be removed and is a bucket's, or was put at a destination within this one as well. */
async function withoutOthers(
  agent: Agent,
  root: string,
  { manifest, index }: { manifest: Manifest; index: FileIndex },
): Promise<FileIndex> {
  const removed = [...index.keys()].filter((path) => !manifest.has(path));
  if (removed.length === 0) return index;
  const isInBucket = isMounted(agent, root);
  const shared = await findShared(agent, root, removed);
  const others = new Set(removed.filter((path) => isInBucket(path) || shared.has(path)));
  return new Map([...index].filter(([path]) => !others.has(path)));
}

/** What comes in place of our link to a volume must not go through it into the volume. */
async function detach(root: string, placed: Placed | undefined): Promise<void> {
  if (placed?.kind === "link" && (await isUntouched(root, placed))) await unlink(root);
}

function missingFor(agent: Agent, { files }: FilePlan): Content[] {
  const bySha = new Map(files.map(({ sha256, size }) => [sha256, { sha256, size }]));
  return [...bySha.values()].filter(({ sha256 }) => !hasContent(agent, sha256));
}

const isTrueAlready = (manifest: Manifest, index: FileIndex, { kept }: FilePlan): boolean =>
  kept.length === manifest.size &&
  index.size === manifest.size &&
  kept.every(({ path, stamp }) => index.get(path)?.stamp === stamp);

/** Writes down what will be ours before it is there, so that after a crash we know it again. */
async function carryOut(
  agent: Agent,
  root: string,
  { manifest, digest, index, plan }: Offer & { index: FileIndex; plan: FilePlan },
): Promise<void> {
  const kept = new Map(plan.kept.map((placed) => [placed.path, placed]));
  const ours = (stamps: ReadonlyMap<string, string | null>): FileIndex =>
    new Map(
      [...manifest.values()].map((entry) => [
        entry.path,
        kept.get(entry.path) ?? { ...entry, stamp: stamps.get(entry.path) ?? null },
      ]),
    );
  await writeIndex(agent, root, { index: new Map([...index, ...ours(new Map())]) });
  await applyFiles(agent, root, plan);
  const stamps = await stampsOf(root, [...plan.files, ...plan.modes]);
  await writeIndex(agent, root, { index: ours(stamps), manifest: digest });
  await dropOldContents(agent);
}

async function stampsOf(root: string, files: readonly Entry[]) {
  const stamps = new Map<string, string | null>();
  for (const { path } of files) {
    const stats = await findStats(join(root, path));
    stamps.set(path, stats === undefined ? null : stampOf(stats));
  }
  return stamps;
}

const countsOf = (manifest: Manifest, { files, modes, links, removals }: FilePlan) => ({
  files: [...manifest.values()].filter(({ kind }) => kind !== "folder").length,
  changed: files.length + modes.length + links.length,
  changedBytes: files.reduce((sum, { size }) => sum + size, 0),
  removed: removals.filter(({ kind }) => kind !== "folder").length,
});

async function readManifest(body: AsyncIterable<Uint8Array>): Promise<Manifest> {
  const manifest = new Map<string, Entry>();
  for await (const line of linesOf(body)) {
    const entry =
      parseLine(Entry, line) ??
      fail("ValueError", `the manifest has a line that is no entry: ${line.slice(0, 200)}`);
    manifest.set(entry.path, entry);
  }
  return manifest;
}
