import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { type Readable, Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import yauzl from "yauzl";
import { AppError, fail } from "../../common/errors.ts";
import { smallFileBytes } from "../../common/files.ts";
import type { Member } from "../../contract/blob-id.ts";
import { type Content, Entry, leadsOut } from "../../contract/files-api.ts";

/** Keeps a content; answers its digest and size. */
export type Keep = (bytes: Readable | Buffer) => Promise<Content>;

/** A member of an archive, and what it is on a node. */
export interface ReadMember {
  readonly member: Member;
  readonly entry: Entry;
}

const longestTargetBytes = 4_095;
/** Source: limits.h(0p), NAME_MAX. */
const longestPartBytes = 255;
/** Below what a file system takes, and far above what projects have. */
const mostFolders = 200;
/** Kinds of files, as the upper half of the attributes has them. Source: stat(2). */
const kindMask = 0o170_000;
const linkKind = 0o120_000;
const folderKind = 0o040_000;
const fileKind = 0o100_000;
/** Set where a name is UTF-8. Source: APPNOTE.TXT section 4.4.4, bit 11. */
const utf8Flag = 0x800;
const nothing = createHash("sha256").digest();

/** Reads a member; the content of a file goes to `keep`. Throws `ValueError` for one that is refused. */
export async function readMember(
  zip: yauzl.ZipFile,
  found: yauzl.Entry,
  keep: Keep,
): Promise<ReadMember> {
  const name = nameOf(found);
  // Clients of this protocol write whole paths, some of them with the slash in front.
  const path = name.replace(/^\//, "").replace(/\/$/, "");
  const mode = found.externalFileAttributes >>> 16;
  const kind = mode & kindMask;
  if (kind === linkKind) return readLink(zip, found, { name, path });
  if (kind === folderKind || name.endsWith("/")) return readFolder(found, { name, path });
  if (kind !== 0 && kind !== fileKind)
    fail("ValueError", `the archive has ${shown(name)}, which is not a file, folder or link`);
  // Checked before anything is kept.
  const bare = { kind: "file", path, size: 0, mode: mode & 0o777 || 0o644, sha256: "0".repeat(64) };
  const entry = checked(name, bare as Entry);
  const isSmall = found.uncompressedSize <= smallFileBytes;
  const content = await keep(await (isSmall ? readChecked : openChecked)(zip, found, name));
  const digest = Buffer.from(content.sha256, "hex");
  return {
    member: { name, mode: fileKind | (mode & 0o777), digest },
    entry: { ...entry, ...content },
  };
}

function nameOf(found: yauzl.Entry): string {
  const { generalPurposeBitFlag: flags, fileNameRaw: raw, extraFields } = found;
  if ((flags & utf8Flag) !== 0 && !isUtf8(raw))
    fail(
      "ValueError",
      `the archive has a name that is not UTF-8: ${shown(raw.toString("latin1"))}`,
    );
  return yauzl.getFileNameLowLevel(flags, raw, extraFields, true);
}

interface Place {
  readonly name: string;
  readonly path: string;
}

function readFolder(found: yauzl.Entry, { name, path }: Place): ReadMember {
  if (found.uncompressedSize > 0)
    fail("ValueError", `the archive has a folder with content: ${shown(name)}`);
  const entry = checked(name, { kind: "folder", path });
  return { member: { name, mode: folderKind, digest: nothing }, entry };
}

async function readLink(
  zip: yauzl.ZipFile,
  found: yauzl.Entry,
  { name, path }: Place,
): Promise<ReadMember> {
  if (found.uncompressedSize > longestTargetBytes)
    fail("ValueError", `the archive has a link whose target is too long: ${shown(path)}`);
  const content = await readChecked(zip, found, name);
  if (!isUtf8(content) || content.includes(0))
    fail("ValueError", `the archive has a link whose target is not UTF-8 text: ${shown(path)}`);
  const target = content.toString().replace(/(?<=.)\/+$/, "");
  // An absolute one is for the node: nothing is opened through it here.
  if (target === "" || (!posix.isAbsolute(target) && leadsOut({ path, target })))
    fail("ValueError", `the archive has a link that leads out of it: ${shown(path)}`);
  const digest = createHash("sha256").update(content).digest();
  const entry = checked(name, { kind: "link", path, target });
  return { member: { name, mode: linkKind, digest }, entry };
}

function checked(name: string, entry: Entry): Entry {
  const parts = entry.path.split("/");
  if (parts.length > mostFolders)
    fail(
      "ValueError",
      `the archive has a path of more than ${mostFolders} folders: ${shown(name)}`,
    );
  if (parts.some((part) => Buffer.byteLength(part) > longestPartBytes))
    fail(
      "ValueError",
      `the archive has a name longer than ${longestPartBytes} bytes: ${shown(name)}`,
    );
  const read = Entry.safeParse(entry);
  if (read.success && entry.path !== "") return read.data;
  return fail("ValueError", `the archive has a path that leads out of it: ${shown(name)}`);
}

async function readChecked(zip: yauzl.ZipFile, found: yauzl.Entry, name: string) {
  const bytes = await buffer(await zip.openReadStreamPromise(found));
  if (crc32(bytes) !== found.crc32) throw damaged(name);
  return bytes;
}

/** The library compares sizes; that the bytes are the ones that were packed only the checksum says. */
async function openChecked(zip: yauzl.ZipFile, found: yauzl.Entry, name: string) {
  let sum = 0;
  const check = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush(done) {
      done(sum === found.crc32 ? null : damaged(name));
    },
  });
  const bytes = await zip.openReadStreamPromise(found);
  pipeline(bytes, check).catch(() => {});
  return check;
}

const damaged = (name: string): AppError =>
  new AppError("ValueError", `the archive is damaged: ${shown(name)} has a wrong checksum`);

/** A name for a message: quoted, and not too long. */
export const shown = (name: string): string => JSON.stringify(name.slice(0, 200));
