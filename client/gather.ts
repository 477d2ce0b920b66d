import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, relative, resolve } from "node:path";
import { errorCodeOf, fail } from "../common/errors.ts";
import { type IgnoreRules, rulesOf } from "./ignore-rules.ts";
import { digestOf } from "./local-files.ts";

/** Something that goes along with a task, by its absolute path here. */
export type Item =
  | { readonly kind: "file"; readonly path: string; readonly size: number; readonly mode: number }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** A file with the digest of what it held when it was read. */
export type ReadItem =
  | (Extract<Item, { kind: "file" }> & { readonly sha256: string })
  | Exclude<Item, { kind: "file" }>;

/**
 * What lies at and below some paths, each thing once: folders without what their ignore rules leave
 * out, files that are named themselves in any case. Throws `NotFoundError` for a path with nothing.
 */
export async function gather(roots: readonly string[]): Promise<ReadItem[]> {
  const items = new Map<string, Item>();
  for (const root of roots) for await (const item of walkRoot(root)) items.set(item.path, item);
  const read: ReadItem[] = [];
  for (const item of items.values())
    read.push(item.kind === "file" ? { ...item, sha256: await digestOf(item.path) } : item);
  return read;
}

async function* walkRoot(root: string): AsyncGenerator<Item> {
  const stats = await stat(root).catch((error: unknown) => {
    if (errorCodeOf(error) === "ENOENT") fail("NotFoundError", `there is no ${root}`);
    throw error;
  });
  if (stats.isFile()) yield fileAt(root, stats);
  else if (stats.isDirectory()) yield* walk(root, root, await rulesOf(root));
  else fail("ValueError", `${root} is neither a file nor a folder`);
}

async function* walk(root: string, folder: string, rules: IgnoreRules): AsyncGenerator<Item> {
  yield { kind: "folder", path: folder };
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (rules.isLeftOut(path, entry.isDirectory())) continue;
    if (entry.name.includes("\\"))
      fail("ValueError", `${path} cannot be sent: its name has a backslash; leave it out`);
    if (entry.isDirectory()) yield* walk(root, path, rules.within(path));
    if (entry.isFile()) yield fileAt(path, await lstat(path));
    if (entry.isSymbolicLink()) yield { kind: "link", path, target: await targetOf(root, path) };
  }
}

const fileAt = (path: string, { size, mode }: { size: number; mode: number }): Item => ({
  kind: "file",
  path,
  size,
  mode: mode & 0o777,
});

/** A link within its folder leads to the same place wherever that lies; one that leads out stays as it is. */
async function targetOf(root: string, path: string): Promise<string> {
  const folder = dirname(path);
  const target = await readlink(path);
  const isWithin = `${resolve(target)}/`.startsWith(`${root}/`);
  if (isAbsolute(target) && !isWithin) return normalize(target);
  return relative(folder, resolve(folder, target)) || ".";
}
