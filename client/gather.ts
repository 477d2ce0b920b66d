import { createHash } from "node:crypto";
import { lstatSync, readdirSync, type Stats } from "node:fs";
import { readlink, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, relative, resolve } from "node:path";
import { errorCodeOf, fail } from "../common/errors.ts";
import { type Digests, openDigests } from "./digests.ts";
import { type IgnoreRules, rulesOf } from "./ignore-rules.ts";

/** Something that goes along with a task, by its absolute path here. */
export type ReadItem =
  | {
      readonly kind: "file";
      readonly path: string;
      readonly size: number;
      readonly mode: number;
      /** Of what it held when it was read. */
      readonly sha256: string;
    }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** The same before the content of files was looked at. */
export type Item =
  | { readonly kind: "file"; readonly path: string; readonly stats: Stats }
  | Exclude<ReadItem, { kind: "file" }>;

/**
 * What lies at and below some paths, each thing once: folders without what their ignore rules leave
 * out, files that are named themselves in any case. Throws `NotFoundError` for a path with nothing.
 */
export async function gather(roots: readonly string[]): Promise<Item[]> {
  const items = new Map<string, Item>();
  for (const root of roots) for (const item of await listRoot(root)) items.set(item.path, item);
  return [...items.values()];
}

/** The same with the digest of each file; only files that look otherwise than before are read. */
export async function readItems(
  items: readonly Item[],
  digests: Pick<Digests, "find" | "read"> = openDigests(undefined, []),
): Promise<ReadItem[]> {
  const read: ReadItem[] = [];
  for (const item of items) {
    if (item.kind !== "file") read.push(item);
    else {
      const { path, stats } = item;
      const { size, mode } = stats;
      const sha256 = digests.find(path, stats) ?? (await digests.read(path, stats));
      read.push({ kind: "file", path, size, mode: mode & 0o777, sha256 });
    }
  }
  return read;
}

/** A digest of how items look to somebody who reads none of them. */
export function lookOf(items: readonly Item[]): string {
  const hash = createHash("sha256");
  const numbers = items.flatMap((item) => {
    if (item.kind !== "file") return [];
    const { mode, size, mtimeMs, ctimeMs, ino } = item.stats;
    return [mode, size, mtimeMs, ctimeMs, ino];
  });
  const names = items.map(
    (item) => `${item.kind}\0${item.path}\0${item.kind === "link" ? item.target : ""}\0`,
  );
  return hash.update(names.join("")).update(Float64Array.from(numbers)).digest("hex");
}

async function listRoot(root: string): Promise<Item[]> {
  const stats = await stat(root).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") fail("NotFoundError", `there is no ${root}`);
    throw error;
  });
  if (stats.isFile()) return [{ kind: "file", path: root, stats }];
  if (!stats.isDirectory()) fail("ValueError", `${root} is neither a file nor a folder`);
  const items: Item[] = [];
  await walk(items, root, root, await rulesOf(root));
  return items;
}

/** Waits for nothing but what takes long: each wait costs more than a look at a file. */
async function walk(items: Item[], root: string, folder: string, rules: IgnoreRules) {
  items.push({ kind: "folder", path: folder });
  const start = join(folder, "/");
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = start + entry.name;
    if (rules.isLeftOut(path, entry.isDirectory())) continue;
    if (entry.name.includes("\\"))
      fail("ValueError", `${path} cannot be sent: its name has a backslash; leave it out`);
    if (entry.isDirectory()) await walk(items, root, path, rules.within(path));
    if (entry.isFile()) items.push({ kind: "file", path, stats: lstatSync(path) });
    if (entry.isSymbolicLink())
      items.push({ kind: "link", path, target: await targetOf(root, path) });
  }
}

/** A link within its folder leads to the same place wherever that lies; one that leads out stays as it is. */
async function targetOf(root: string, path: string): Promise<string> {
  const folder = dirname(path);
  const target = await readlink(path);
  const isWithin = `${resolve(target)}/`.startsWith(`${root}/`);
  if (isAbsolute(target) && !isWithin) return normalize(target);
  return relative(folder, resolve(folder, target)) || ".";
}
