import { createHash } from "node:crypto";
import { realpathSync, type Stats } from "node:fs";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { ifPossible } from "../../common/errors.ts";
import { ifMissing } from "../../common/files.ts";
import type { Entry } from "../../contract/files-api.ts";
import type { Agent } from "../context.ts";

/** What an offer put at a path, and how the file looked right after; null before it is there. */
export type Placed = Entry & { readonly stamp: string | null };

/** What offers put below a destination, by path. It tells what is ours there, and saves reading it again. */
export type FileIndex = Map<string, Placed>;

/** How a file looks to somebody who does not read it. A file that is written again looks different. */
export const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): string =>
  `${size} ${mtimeMs} ${ctimeMs} ${ino}`;

/** What is known of a destination; nothing where it is new, or where the index was lost. */
export interface Known {
  readonly index: FileIndex;
  /** What the manifest was offered as whose files these are; undefined until all are there. */
  readonly manifest?: string | undefined;
}

/** What offers put at a destination. */
export async function readIndex(agent: Pick<Agent, "config">, root: string): Promise<Known> {
  const text = await readFile(indexOf(agent, root), "utf8").catch(ifMissing(""));
  const rows = text.split("\n").filter(Boolean).map(readRow);
  const index: FileIndex = new Map();
  for (const row of rows) if (row !== undefined && "path" in row) index.set(row.path, row);
  const last = rows.at(-1);
  const isWhole = last !== undefined && !("path" in last) && !rows.includes(undefined);
  return { index, manifest: isWhole ? last.manifest : undefined };
}

/** Of paths below a destination those that lie at destinations within it, too. */
export async function findShared(
  agent: Pick<Agent, "config">,
  root: string,
  paths: readonly string[],
): Promise<Set<string>> {
  const folder = realOf(root);
  const indexes = new Map<string, FileIndex>();
  const isPlacedAt = async (above: string, path: string): Promise<boolean> => {
    const index = indexes.get(above) ?? (await readIndex(agent, join(folder, above))).index;
    indexes.set(above, index);
    return index.has(relative(above, path));
  };
  const shared = new Set<string>();
  for (const path of paths.filter((one) => one !== ""))
    for (let above = path; above !== "."; above = dirname(above))
      if (await isPlacedAt(above, path)) shared.add(path);
  return shared;
}

/** What is known of all destinations, each as the text of its index. */
export async function readIndexTexts(agent: Pick<Agent, "config">): Promise<string[]> {
  const folder = placedFolder(agent);
  const names = await readdir(folder).catch(ifMissing([]));
  const indexes = names.filter((name) => !name.includes("."));
  return Promise.all(
    indexes.map((name) => readFile(join(folder, name), "utf8").catch(ifMissing(""))),
  );
}

/**
 * Remembers what is ours at a destination. Whoever removes the node finds the paths of what lies
 * outside of its working folder beside it: each ends with a zero byte, the deepest come first.
 */
export async function writeIndex(
  agent: Pick<Agent, "config">,
  root: string,
  { index, manifest }: Known,
): Promise<void> {
  const file = indexOf(agent, root);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const rows = [...index.values(), ...(manifest === undefined ? [] : [{ manifest }])];
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  await writeFile(`${file}.new`, lines.join(""), { mode: 0o600 });
  if (!isWithin(withRealParent(agent.config.workdir), root)) {
    const paths = [...index.keys()].map((path) => join(root, path));
    const deepestFirst = paths.toSorted((a, b) => b.length - a.length);
    await writeFile(
      `${file}.paths`,
      deepestFirst.map((path) => `${path}\0`),
      { mode: 0o600 },
    );
  }
  await rename(`${file}.new`, file);
}

/** Whether a path is a folder or lies below it. */
export const isWithin = (folder: string, path: string): boolean =>
  `${path}/`.startsWith(`${folder}/`);

/** Where a path truly lies; the part that does not exist yet stays as it is. */
export const realOf = (path: string): string =>
  ifPossible(() => realpathSync(path)) ?? (path === dirname(path) ? path : withRealParent(path));

/** A path without links on the way to it, as the kernel lists mounts. */
export const withRealParent = (path: string): string => join(realOf(dirname(path)), basename(path));

/** Where it is written what offers put at each destination. */
export const placedFolder = ({ config }: Pick<Agent, "config">): string =>
  join(config.agentFolder, "files", "placed");

const indexOf = (agent: Pick<Agent, "config">, root: string): string => {
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(placedFolder(agent), name);
};

/** A row of a file that a power loss damaged is as good as none. */
const readRow = (line: string): Placed | { manifest: string } | undefined =>
  ifPossible(() => JSON.parse(line));
