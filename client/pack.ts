import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ZipFile } from "yazl";
import { AppError } from "../common/errors.ts";
import { blobIdOf, type Member } from "../contract/blob-id.ts";
import type { ReadItem } from "./gather.ts";

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
  const bytes = Readable.from(zip.outputStream as Readable, { objectMode: false });
  zip.on("error", (error: Error) => bytes.destroy(changed(error.message)));
  for (const item of items.toSorted((a, b) => (a.path < b.path ? -1 : 1)))
    add(zip, item, compress, (error) => bytes.destroy(error));
  zip.end();
  await pipeline(bytes, createWriteStream(file, { mode: 0o600 }));
}

function add(
  zip: ZipFile,
  item: ReadItem,
  compress: boolean,
  failed: (error: Error) => void,
): void {
  const name = nameOf(item);
  if (item.kind === "folder") zip.addEmptyDirectory(name, sameTime);
  if (item.kind === "link")
    zip.addBuffer(Buffer.from(item.target), name, {
      ...{ ...sameTime, mode: linkMode | 0o777, compress: false },
    });
  if (item.kind !== "file") return;
  const { size, mode, path, sha256 } = item;
  zip.addReadStreamLazy(name, { ...sameTime, size, mode: fileMode | mode, compress }, (take) => {
    const checked = new Transform({ transform, flush });
    const hash = createHash("sha256");
    function transform(chunk: Buffer, _encoding: string, done: (e: null, c: Buffer) => void) {
      hash.update(chunk);
      done(null, chunk);
    }
    function flush(done: (error?: Error) => void) {
      done(hash.digest("hex") === sha256 ? undefined : changed(path));
    }
    pipeline(createReadStream(path), checked).catch(failed);
    take(null, checked);
  });
}

const changed = (what: string): AppError =>
  new AppError("ConflictError", `${what} changed while it was being packed; run the command again`);
