import { hash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { digestOf } from "./local-files.ts";

/** Digests of files that look as they did when they were read last. */
export interface Digests {
  /** The digest of a file's content, where it is known. */
  find(path: string, stats: Stats): string | undefined;
  /** The same of any file, which is read. */
  read(path: string, stats: Stats): Promise<string>;
  /** Keeps what is known for the next time. A disk that takes nothing is no reason to fail. */
  save(): void;
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
  const before = file === undefined ? new Map<string, Known>() : readKnown(file);
  const after = new Map<string, Known>();
  let isChanged = false;
  const now = Date.now();
  return {
    find(path, { size, mtimeMs, ctimeMs, ino }) {
      const known = before.get(path);
      const isSame = known && known[1] === size && known[2] === mtimeMs && known[4] === ino;
      if (!isSame || known[3] !== ctimeMs) return undefined;
      after.set(path, known);
      return known[0];
    },
    async read(path, { size, mtimeMs, ctimeMs, ino }) {
      const isSmall = size <= smallBytes;
      const sha256 = isSmall ? hash("sha256", readFileSync(path)) : await digestOf(path);
      if (now - Math.max(mtimeMs, ctimeMs) <= settledMs) return sha256;
      after.set(path, [sha256, size, mtimeMs, ctimeMs, ino]);
      isChanged = true;
      return sha256;
    },
    save() {
      if (file === undefined || folder === undefined) return;
      if (!isChanged && after.size === before.size) return;
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeFileSync(`${file}.new`, JSON.stringify([...after]), { mode: 0o600 });
        renameSync(`${file}.new`, file);
        dropOld(folder, now);
      } catch {}
    },
  };
}

/** A file that is damaged is as good as none. */
function readKnown(file: string): Map<string, Known> {
  try {
    return new Map(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return new Map();
  }
}

function dropOld(folder: string, now: number): void {
  for (const name of readdirSync(folder))
    if (now - statSync(join(folder, name)).mtimeMs > keptMs) rmSync(join(folder, name));
}
