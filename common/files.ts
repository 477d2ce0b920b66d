import { createHash } from "node:crypto";
import {
  accessSync,
  appendFileSync,
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  fsync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdir, stat, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { AppError, errorCodeOf, fail } from "./errors.ts";

/** Where a file comes from that somebody named. */
interface Named {
  readonly mostBytes: number;
  /** Takes a pipe too, as a shell makes for `<(command)`; waits until it ends. */
  readonly mayBePipe?: boolean;
}

/**
 * The content of a file that somebody named. Throws `ValueError` for a device, a folder or a socket and
 * for more than `mostBytes`, and what the system says when the file cannot be read.
 */
export function readNamed(file: string, { mostBytes, mayBePipe = false }: Named): Buffer {
  // Without it, opening a pipe to which nobody writes never ends.
  const descriptor = openSync(file, mayBePipe ? "r" : constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() && !(mayBePipe && stats.isFIFO()))
      fail("ValueError", `${file} is not a regular file`);
    const bytes = readAtMost(descriptor, mostBytes + 1);
    if (bytes.length > mostBytes) fail("ValueError", `${file} has more than ${mostBytes} bytes`);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** The size that the system tells is not to be trusted: a file grows, and a pipe has none. */
function readAtMost(descriptor: number, mostBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let left = mostBytes; left > 0; ) {
    const chunk = Buffer.allocUnsafe(Math.min(left, chunkBytes));
    const size = readSync(descriptor, chunk);
    if (size === 0) break;
    chunks.push(chunk.subarray(0, size));
    left -= size;
  }
  return Buffer.concat(chunks);
}

const chunkBytes = 64 * 1024;

/** Files up to this size are read and written at once: for each of many of them a stream takes longer. */
export const smallFileBytes = 64 * 1024;

/** The digest of a file's content, in hex. */
export async function fileDigestOf(file: string, algorithm = "sha256"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** Whether a path leads to a folder. */
export const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

/** Whether we may do something with a file: write to it, unless `mode` says what. */
export function canUse(file: string, mode: number = constants.W_OK): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

/** The size of a file in bytes; 0 when there is none. */
export const fileSizeOf = (file: string): number =>
  statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Writes a file whole or not at all, for its owner alone; its folder is made. */
export function replaceFile(file: string, text: string): void {
  const folder = dirname(file);
  const draft = join(folder, `.${basename(file)}.${process.pid}.new`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

/** For `catch`: a value in place of what was to be done with a file that is not there. */
export const ifMissing =
  <T>(value: T) =>
  (error: unknown): T => {
    if (errorCodeOf(error) === "ENOENT") return value;
    throw error;
  };

/** A result, or undefined where the file that it is about is not there. */
export const orNothing = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch(ifMissing(undefined));

/** What is done with a file at once, or a value where that is not there. */
export function unlessMissing<T, U = undefined>(work: () => T, value?: U): T | U {
  try {
    return work();
  } catch (error) {
    return ifMissing(value as U)(error);
  }
}

/** Adds text to a file that is its user's alone; makes it, and its folder, if they are missing. */
export function appendTo(file: string, text: string): void {
  const append = () => {
    appendFileSync(file, text, { mode: 0o600 });
    return true;
  };
  if (unlessMissing(append)) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  append();
}

/** Whether a system call failed because a disk or a quota is full. */
export const isNoRoom = (error: unknown): boolean =>
  ["ENOSPC", "EDQUOT"].includes(errorCodeOf(error) ?? "");

/** That control cannot keep what it was sent. */
export const diskFull = (cause: unknown): AppError =>
  new AppError(
    "DiskFullError",
    "the disk of control is full; make room on it, then try again",
    {},
    cause,
  );

const reserveBytes = 256 * 1024 * 1024;

/** What may be written to the disk of a folder, which need not exist yet; a part of the disk stays free. */
export async function spareBytes(folder: string): Promise<number> {
  const { bavail, bsize } = (await orNothing(statfs(folder))) ?? (await statfs(dirname(folder)));
  return Math.max(0, bavail * bsize - reserveBytes);
}

/**
 * Puts on disk what was written to a file, or which names a folder has. Only the flush runs in another thread, as
 * handing over the opening and the closing takes longer than doing them.
 */
export async function flush(path: string): Promise<void> {
  const descriptor = openSync(path, "r");
  try {
    await promisify(fsync)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a folder and those above it; their names are on disk when this resolves. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let at = path; at.length >= first.length; at = dirname(at)) await flush(dirname(at));
}
