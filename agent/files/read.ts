import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { errorCodeOf, fail, messageOf } from "../../common/errors.ts";
import { readOpen } from "../../common/growing-file.ts";
import { type Stream, toJsonLines } from "../../common/server.ts";
import type { FileEntry, Listed, Stretch, StretchHead } from "../../contract/files-api.ts";
import type { Agent } from "../context.ts";
import { openActivity } from "./activity.ts";
import { findSource } from "./destinations.ts";
import { isWithin } from "./ledger.ts";

/** One reading of files below a path. */
interface Tour {
  readonly root: string;
  /** The agent's own folder, which is left out. */
  readonly own: string;
  /** Bytes move. */
  readonly heard: () => void;
  readonly signal: AbortSignal;
}

/** Lists what lies at and below a path of this node. */
export async function listFiles(
  agent: Agent,
  { path }: { path: string },
  signal: AbortSignal,
): Promise<Stream> {
  const tour = await openTour(agent, path, signal);
  return toJsonLines(walk(tour, ""));
}

/** Reads stretches of files below a path of this node. */
export async function readFiles(
  agent: Agent,
  { path, stretches }: { path: string; stretches: readonly Stretch[] },
  signal: AbortSignal,
): Promise<Stream> {
  const tour = await openTour(agent, path, signal);
  return { type: "application/octet-stream", content: readAll(tour, stretches) };
}

async function openTour(agent: Agent, path: string, signal: AbortSignal): Promise<Tour> {
  const root = await findSource(agent, path);
  const own = await realpath(agent.config.agentFolder);
  if (isWithin(own, root)) fail("ValueError", `${root} on this node ${isOurs}`);
  return { root, own, heard: openActivity(agent), signal };
}

const isOurs = "belongs to the agent and cannot be read";

async function* walk(tour: Tour, path: string): AsyncGenerator<Listed> {
  const there = join(tour.root, path);
  try {
    const stats = await lstat(there);
    if (stats.isFile()) yield await readEntry(tour, path);
    if (stats.isSymbolicLink()) yield { kind: "link", path, target: await targetOf(tour, there) };
    if (!stats.isDirectory() || there === tour.own) return;
    const names = await readdir(there);
    yield { kind: "folder", path };
    for (const name of names.toSorted()) yield* walk(tour, path === "" ? name : `${path}/${name}`);
  } catch (error) {
    tour.signal.throwIfAborted();
    const isGone = errorCodeOf(error) === "ENOENT" && !path.includes(unknownLetter);
    if (!isGone) yield { kind: "unreadable", path, why: whyOf(error) };
  }
}

/** Stands for what is no UTF-8 in a name; such a name cannot be opened. */
const unknownLetter = "\uFFFD";

async function readEntry({ root, heard, signal }: Tour, path: string): Promise<FileEntry> {
  const file = await openFile(join(root, path));
  try {
    const { size: end, mode } = await file.stat();
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of chunksOf(file, { offset: 0, end }, signal)) {
      hash.update(chunk);
      size += chunk.length;
      heard();
    }
    return { kind: "file", path, size, mode: mode & 0o777, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

/** A link within what is read leads to the same place from wherever that will lie. */
async function targetOf({ root }: Tour, there: string): Promise<string> {
  const target = await readlink(there);
  return isWithin(root, target) ? relative(dirname(there), target) || "." : target;
}

async function* readAll(
  tour: Tour,
  stretches: readonly Stretch[],
): AsyncGenerator<string | Uint8Array> {
  for (const stretch of stretches) {
    const file = await openWithin(tour, stretch.path).catch((error: unknown) =>
      headOf(0, whyOf(error)),
    );
    if (typeof file === "string") yield file;
    else yield* readStretch(tour, file, stretch);
  }
}

async function* readStretch(
  { root, heard, signal }: Tour,
  file: FileHandle,
  { path, offset, end }: Stretch,
): AsyncGenerator<string | Uint8Array> {
  try {
    const { size } = await file.stat();
    let left = Math.max(0, end - offset);
    if (size < end) return yield headOf(0, "it became shorter");
    yield headOf(left);
    for await (const chunk of chunksOf(file, { offset, end }, signal)) {
      yield chunk;
      left -= chunk.length;
      heard();
    }
    if (left > 0) fail("ConflictError", `${join(root, path)} became shorter while it was sent`);
  } finally {
    await file.close();
  }
}

const headOf = (bytes: number, problem?: string): string =>
  `${JSON.stringify({ bytes, ...(problem !== undefined && { problem }) } satisfies StretchHead)}\n`;

/**
 * Opens a file of a tour, unless links on the way lead to what is the agent's own: to open the journal
 * and close it again gives its lock away. Source: fcntl(2), "Record locking and file descriptors".
 */
async function openWithin({ root, own }: Tour, path: string): Promise<FileHandle> {
  const there = join(root, path);
  if (isWithin(own, await realpath(dirname(there)))) fail("ValueError", `it ${isOurs}`);
  return openFile(there);
}

/** A file that became a pipe is opened without waiting for a writer, and refused. */
const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function openFile(path: string): Promise<FileHandle> {
  const file = await open(path, flags);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  return fail("ConflictError", "it is no file any more");
}

const chunkBytes = 256 * 1024;

/** Pieces of a file, all in the same memory. */
async function* chunksOf(
  file: FileHandle,
  { offset, end }: Pick<Stretch, "offset" | "end">,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const memory = Buffer.allocUnsafe(Math.max(0, Math.min(chunkBytes, end - offset)));
  for await (const chunk of readOpen(file, offset, end, memory)) {
    signal.throwIfAborted();
    yield chunk;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "it is gone, or its name is not UTF-8",
  EACCES: "the user of the node may not read it",
  EPERM: "the user of the node may not read it",
  ELOOP: "it is a link now",
  ENAMETOOLONG: "its name is too long for the node",
  EIO: "the disk of the node cannot be read",
};

const whyOf = (error: unknown): string => reasons[errorCodeOf(error) ?? ""] ?? messageOf(error);
