import { posix } from "node:path";
import yauzl from "yauzl";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import { paced } from "../../common/loop.ts";
import type { Member } from "../../contract/blob-id.ts";
import type { Entry } from "../../contract/files-api.ts";
import { type Keep, readMember, shown } from "./member.ts";

/** What one archive may hold. */
export interface Limits {
  readonly entries: number;
  /** All files together, unpacked. */
  readonly bytes: number;
  /** What any archive may unpack to; more only if it is at most `ratio` times its packed size. */
  readonly modestBytes: number;
  readonly ratio: number;
}

/** What an archive holds. */
export interface Archive {
  /** By path; of two members with one path the last one counts. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Every member, in their order. */
  readonly members: readonly Member[];
}

/** Source: APPNOTE.TXT section 4.3.7: a local header without its name and extra fields. */
const localHeaderBytes = 30;

/**
 * Everything that a zip holds; its contents go to `keep`. Throws `ValueError` for what is no zip, is
 * damaged, leads out of its folder or through a link, and `TooLargeError` for more than the limits.
 */
export async function readArchive(file: string, limits: Limits, keep: Keep): Promise<Archive> {
  const options = { decodeStrings: false, strictFileNames: true };
  const zip = await yauzl.openPromise(file, options).catch(refuseZip);
  try {
    const entries = new Map<string, Entry>();
    const members: Member[] = [];
    const places: Place[] = [];
    let bytes = 0;
    for await (const found of eachOf(zip)) {
      // The library ends a content that is longer than its header says.
      bytes += found.uncompressedSize;
      checkSize(members.length + 1, bytes, zip.fileSize, limits);
      const { entry, member } = await readMember(zip, found, keep).catch(refuseZip);
      entries.set(entry.path, entry);
      members.push(member);
      places.push(placeOf(found));
    }
    refuseOverlaps(places);
    await openFolders(entries);
    return { entries, members };
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

function checkSize(count: number, bytes: number, packedBytes: number, limits: Limits): void {
  if (count > limits.entries)
    fail("TooLargeError", `the archive has more than ${limits.entries} files and folders`);
  if (bytes > limits.bytes)
    fail(
      "TooLargeError",
      `the archive is larger, unpacked, than the ${Math.floor(limits.bytes / 2 ** 20)} MB that are free on the disk of control`,
    );
  if (bytes > Math.max(limits.modestBytes, limits.ratio * packedBytes))
    fail(
      "TooLargeError",
      `the archive unpacks to more than ${limits.ratio} times its size; leave such files out and make them in \`setup\``,
    );
}

/** Where a member lies in the archive. */
interface Place {
  readonly start: number;
  readonly end: number;
}

function placeOf({ relativeOffsetOfLocalHeader: start, ...found }: yauzl.Entry): Place {
  return { start, end: start + localHeaderBytes + found.fileNameLength + found.compressedSize };
}

/** Members that share their bytes unpack to far more than was sent. */
function refuseOverlaps(places: Place[]): void {
  let last = 0;
  for (const { start, end } of places.sort((one, other) => one.start - other.start)) {
    if (start < last) fail("ValueError", "the archive has members that share their bytes");
    last = end;
  }
}

/** Checks what lies above each entry. */
async function openFolders(entries: Map<string, Entry>): Promise<void> {
  for await (const entry of paced([...entries.values()])) openFoldersAbove(entry, entries);
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

/** The library's errors are about the archive; the system's are ours. */
function refuseZip(error: unknown): never {
  if (error instanceof AppError || !(error instanceof Error)) throw error;
  const code = errorCodeOf(error);
  if (code !== undefined && !code.startsWith("Z_")) throw error;
  throw new AppError("ValueError", `the upload is not a readable zip archive: ${error.message}`);
}
