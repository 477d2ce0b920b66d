import {
  appendFileSync,
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { errorCodeOf } from "../../common/errors.ts";
import type { Place } from "../../common/lines.ts";
import { earlierLogOf } from "../../contract/balancer-api.ts";

/**
 * A file that is begun anew once it has so many bytes. What it was is kept under another name until the next
 * time. Throws when it cannot be opened.
 */
export function turningFile(file: string, bytesAtMost: number): Place {
  let fd = open(file);
  let own = lookAt(file)?.ino;

  /** Another balancer, before or after this one, may have begun it anew. */
  function look(): void {
    const found = lookAt(file);
    const isOwn = found?.ino === own;
    if (isOwn && (found?.size ?? 0) < bytesAtMost) return;
    if (isOwn && own !== undefined) turn(file, own);
    const before = fd;
    fd = open(file);
    own = lookAt(file)?.ino;
    closeSync(before);
  }

  return {
    isFile: true,
    next() {
      try {
        look();
      } catch {
        // It goes on where it is; the next write tries again.
      }
      return fd;
    },
  };
}

const open = (file: string): number => openSync(file, "a", 0o600);

/**
 * Keeps a file under its earlier name where it is still the one that is meant: another balancer, which
 * saw it full at the same moment, may have turned that already, and what is there now is begun anew.
 */
export function turn(file: string, inode: number): void {
  const aside = `${file}.${process.pid}`;
  renameSync(file, aside);
  if (lookAt(aside)?.ino === inode) renameSync(aside, earlierLogOf(file));
  else putBack(aside, file);
}

function putBack(aside: string, file: string): void {
  try {
    linkSync(aside, file);
  } catch (error) {
    if (errorCodeOf(error) !== "EEXIST") throw error;
    appendFileSync(file, readFileSync(aside));
  }
  rmSync(aside);
}

const lookAt = (file: string) => statSync(file, { throwIfNoEntry: false });
