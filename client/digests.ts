import { hash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { ifPossible } from "../common/errors.ts";
import { fileDigestOf, replaceFile } from "../common/files.ts";

/** Digests of files that look as they did when they were read last. */
export interface Digests {
  /** The id of the blob of all files, where they look as a whole as they did then. */
  findBlob(look: string): string | undefined;
  /** The digest of a file's content, where it is known. */
  find(path: string, stats: Stats): string | undefined;
  /** The same of any file, which is read. */
  read(path: string, stats: Stats): Promise<string>;
  /** Keeps what is known for the next time. A disk that takes nothing is no reason to fail. */
  save(look: string, blobId: string): void;
}

/** A file that is changed again so soon after may look the same: the clock of file systems is coarse. */
const settledMs = 2_000;
const smallBytes = 1024 * 1024;
const keptMs = 30 * 24 * 3_600_000;

/** How a file looks to somebody who does not read it, and what it held. */
type Known = readonly [sha256: string, size: number, mtimeMs: number, ctimeMs: number, ino: number];

/** Opens what is known of the files below some folders. Without a folder to keep it in, nothing is known. */
export function openDigests(folder: string | undefined, roots: readonly string[]): Digests {
  const name = hash("sha256", roots.join("\0"));
  const file = folder === undefined ? undefined : join(folder, name);
  const [blobBefore = "", text = ""] = file === undefined ? [] : linesIn(file);
  let before: ReadonlyMap<string, Known> | undefined;
  const after = new Map<string, Known>();
  let isSettled = true;
  let isChanged = false;
  const now = Date.now();
  return {
    findBlob(look) {
      const [lookBefore, blobId] = blobBefore.split(" ");
      return look === lookBefore ? blobId : undefined;
    },
    find(path, { size, mtimeMs, ctimeMs, ino }) {
      before ??= parseKnown(text);
      const known = before.get(path);
      const isSame = known && known[1] === size && known[2] === mtimeMs && known[4] === ino;
      if (!isSame || known[3] !== ctimeMs) return undefined;
      after.set(path, known);
      return known[0];
    },
    async read(path, { size, mtimeMs, ctimeMs, ino }) {
      const isSmall = size <= smallBytes;
      const sha256 = isSmall ? hash("sha256", readFileSync(path)) : await fileDigestOf(path);
      if (now - Math.max(mtimeMs, ctimeMs) <= settledMs) isSettled = false;
      else after.set(path, [sha256, size, mtimeMs, ctimeMs, ino]);
      isChanged = true;
      return sha256;
    },
    save(look, blobId) {
      if (file === undefined || folder === undefined) return;
      const blob = isSettled ? `${look} ${blobId}` : "";
      if (!isChanged && blob === blobBefore) return;
      try {
        replaceFile(file, `${blob}\n${JSON.stringify([...after])}`);
        dropOld(folder, now);
      } catch {}
    },
  };
}

const linesIn = (file: string): string[] =>
  ifPossible(() => readFileSync(file, "utf8"))?.split("\n") ?? [];

/** What is damaged is as good as nothing. */
const parseKnown = (text: string): Map<string, Known> =>
  ifPossible(() => new Map(JSON.parse(text))) ?? new Map();

function dropOld(folder: string, now: number): void {
  for (const name of readdirSync(folder))
    if (now - statSync(join(folder, name)).mtimeMs > keptMs) rmSync(join(folder, name));
}
