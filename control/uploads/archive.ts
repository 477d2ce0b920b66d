import { posix } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import yauzl from "yauzl";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import { type Content, Entry, leadsOut } from "../../contract/files-api.ts";

/** What one archive may hold. */
export interface Limits {
  readonly entries: number;
  /** All files together, unpacked. */
  readonly bytes: number;
}

/** Keeps a content; answers its digest and size. */
type Keep = (bytes: Readable) => Promise<Content>;

const longestTargetBytes = 4_095;
/** Kinds of files, as the upper half of the attributes has them. Source: stat(2). */
const kindMask = 0o170_000;
const linkKind = 0o120_000;
const plainKinds = [0, 0o100_000, 0o040_000];

/**
 * Everything that a zip holds, by path; its contents go to `keep`. Throws `ValueError` for what is no
 * zip, leads out of its folder or through a link, and `TooLargeError` for more than the limits.
 */
export async function readArchive(
  file: string,
  limits: Limits,
  keep: Keep,
): Promise<Map<string, Entry>> {
  const options = { decodeStrings: false, strictFileNames: true };
  const zip = await yauzl.openPromise(file, options).catch(refuseZip);
  try {
    const entries = new Map<string, Entry>();
    let bytes = 0;
    for await (const member of eachOf(zip)) {
      bytes += member.uncompressedSize;
      if (entries.size >= limits.entries || bytes > limits.bytes) refuseSize(limits);
      const entry = await readMember(zip, member, keep).catch(refuseZip);
      entries.set(entry.path, entry);
    }
    for (const entry of [...entries.values()]) openFoldersAbove(entry, entries);
    return entries;
  } finally {
    zip.close();
  }
}

async function* eachOf(zip: yauzl.ZipFile): AsyncGenerator<yauzl.Entry> {
  try {
    yield* zip.eachEntry();
  } catch (error) {
    refuseZip(error);
  }
}

async function readMember(zip: yauzl.ZipFile, member: yauzl.Entry, keep: Keep): Promise<Entry> {
  const name = nameOf(member);
  // Clients of this protocol write whole paths, some of them with the slash in front.
  const path = name.replace(/^\//, "").replace(/\/$/, "");
  const mode = member.externalFileAttributes >>> 16;
  const kind = mode & kindMask;
  if (kind === linkKind) return checked(name, await readLink(zip, member, path));
  if (!plainKinds.includes(kind))
    fail("ValueError", `the archive has ${shown(name)}, which is no file, folder or link`);
  if (name.endsWith("/")) return checked(name, { kind: "folder", path });
  // Checked before anything is kept.
  const bare = { kind: "file", path, size: 0, mode: mode & 0o777 || 0o644, sha256: "0".repeat(64) };
  const entry = checked(name, bare as Entry);
  return { ...entry, ...(await keep(await zip.openReadStreamPromise(member))) };
}

const nameOf = (member: yauzl.Entry): string =>
  yauzl.getFileNameLowLevel(
    member.generalPurposeBitFlag,
    member.fileNameRaw,
    member.extraFields,
    true,
  );

async function readLink(zip: yauzl.ZipFile, member: yauzl.Entry, path: string): Promise<Entry> {
  if (member.uncompressedSize > longestTargetBytes)
    fail("ValueError", `the archive has a link with too long a target: ${shown(path)}`);
  const target = (await text(await zip.openReadStreamPromise(member))).replace(/(?<=.)\/+$/, "");
  // An absolute one is for the node: nothing is opened through it here.
  if (target === "" || (!posix.isAbsolute(target) && leadsOut({ path, target })))
    fail("ValueError", `the archive has a link that leads out of it: ${shown(path)}`);
  return { kind: "link", path, target };
}

function checked(name: string, entry: Entry): Entry {
  const read = Entry.safeParse(entry);
  if (read.success && entry.path !== "") return read.data;
  return fail("ValueError", `the archive has a path that leads out of it: ${shown(name)}`);
}

/**
 * What lies below a link would be put somewhere else. Clients send a folder that is itself a link as
 * that link, and then what is in it: a folder is meant.
 */
function openFoldersAbove({ path }: Entry, entries: Map<string, Entry>): void {
  for (let up = posix.dirname(path); up !== "."; up = posix.dirname(up)) {
    const kind = entries.get(up)?.kind;
    if (kind === "link") entries.set(up, { kind: "folder", path: up });
    if (kind === "file")
      fail("ValueError", `the archive has ${shown(path)} below ${shown(up)}, which is a file`);
  }
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 200));

const refuseSize = ({ entries, bytes }: Limits): never =>
  fail(
    "TooLargeError",
    `the archive is larger, unpacked, than the ${Math.floor(bytes / 2 ** 20)} MB or ${entries} files that there is room for`,
  );

/** The library's errors are about the archive; the system's are ours. */
function refuseZip(error: unknown): never {
  if (error instanceof AppError || !(error instanceof Error)) throw error;
  const code = errorCodeOf(error);
  if (code !== undefined && !code.startsWith("Z_")) throw error;
  throw new AppError("ValueError", `the upload is no zip that can be read: ${error.message}`);
}
