import { createHash, hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { AppError } from "../common/errors.ts";
import { readNamed, smallFileBytes } from "../common/files.ts";
import { blobIdOf, type Member } from "../contract/blob-id.ts";
import type { ReadItem } from "./gather.ts";

type FileItem = Extract<ReadItem, { kind: "file" }>;

const linkMode = 0o120_000;
const folderMode = 0o040_000;
const fileMode = 0o100_000;

/** The id of a set of files: the same files, wherever they are packed, have the same one. */
export const packedId = (items: readonly ReadItem[]): string =>
  blobIdOf(items.map(memberOf), "modes");

function memberOf(item: ReadItem): Member {
  const name = nameOf(item);
  if (item.kind === "file")
    return { name, mode: fileMode | item.mode, digest: Buffer.from(item.sha256, "hex") };
  const isFolder = item.kind === "folder";
  const digest = createHash("sha256")
    .update(isFolder ? "" : item.target)
    .digest();
  return { name, mode: isFolder ? folderMode : linkMode, digest };
}

const nameOf = ({ kind, path }: ReadItem): string =>
  `${path.replace(/^\/+/, "")}${kind === "folder" ? "/" : ""}`;

/** The same files always make the same archive, so an upload can be resumed chunk by chunk. */
const sameTime = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true };

/** What waits in memory for its turn to be packed, at most. */
const heldAtMost = 16 * 1024 * 1024;
/** What the compression of a file takes until its turn comes. */
const compressionBytes = 256 * 1024;

/**
 * Packs files by their whole paths, without the slash in front. Throws `ConflictError` for one that
 * is not any more what it was when it was gathered.
 */
export async function packInto(
  file: string,
  items: readonly ReadItem[],
  { compress }: { compress: boolean },
): Promise<void> {
  const zip = new ZipFile();
  const bytes = zip.outputStream as Readable;
  const failed = (error: Error) => void bytes.destroy(error);
  zip.on("error", (error: Error) => failed(changed(error.message)));
  const sorted = items.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  addAll({ zip, compress, failed }, sorted).catch(failed);
  await pipeline(bytes, createWriteStream(file, { mode: 0o600 }));
}

interface Packing {
  readonly zip: ZipFile;
  readonly compress: boolean;
  readonly failed: (error: Error) => void;
}

async function addAll(packing: Packing, items: readonly ReadItem[]): Promise<void> {
  const { zip, compress } = packing;
  let held = 0;
  for (const item of items) {
    const name = nameOf(item);
    if (item.kind === "folder") zip.addEmptyDirectory(name, sameTime);
    else if (item.kind === "link")
      zip.addBuffer(Buffer.from(item.target), name, {
        ...{ ...sameTime, mode: linkMode | 0o777, compress: false },
      });
    else if (item.size <= smallFileBytes && held < heldAtMost) {
      zip.addBuffer(readChecked(item), name, { ...sameTime, mode: fileMode | item.mode, compress });
      held += item.size + (compress ? compressionBytes : 0);
    } else {
      await addStream(packing, item);
      held = 0;
    }
  }
  zip.end();
}

function readChecked({ path, sha256 }: FileItem): Buffer {
  const bytes = readSmall(path);
  if (bytes === undefined || hash("sha256", bytes) !== sha256) throw changed(path);
  return bytes;
}

/** Undefined for a file that has grown, and for what is no file any more. */
function readSmall(path: string): Buffer | undefined {
  try {
    return readNamed(path, { mostBytes: smallFileBytes });
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Adds a file that is read once it has its turn; resolves then: nothing that was added before waits any more. */
function addStream({ zip, compress, failed }: Packing, item: FileItem): Promise<void> {
  const { size, mode, path, sha256 } = item;
  const options = { ...sameTime, size, mode: fileMode | mode, compress };
  const { promise, resolve } = Promise.withResolvers<void>();
  zip.addReadStreamLazy(nameOf(item), options, (take) => {
    const checked = new Transform({ transform, flush });
    const digest = createHash("sha256");
    function transform(chunk: Buffer, _encoding: string, done: (e: null, c: Buffer) => void) {
      digest.update(chunk);
      done(null, chunk);
    }
    function flush(done: (error?: Error) => void) {
      done(digest.digest("hex") === sha256 ? undefined : changed(path));
    }
    pipeline(createReadStream(path), checked).catch(failed);
    take(null, checked);
    resolve();
  });
  return promise;
}

const changed = (what: string): AppError =>
  new AppError("ConflictError", `${what} changed while it was being packed; run the command again`);
