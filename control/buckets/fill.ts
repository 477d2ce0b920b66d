import { workThrough } from "../../common/turns.ts";
import type { Entry, FileEntry } from "../../contract/files-api.ts";
import type { Bucket } from "./bucket.ts";
import { etagOf, readParts } from "./parts.ts";

/** What an upload came to. */
export interface Filled {
  readonly files: number;
  readonly changed: number;
  readonly changedBytes: number;
  /** Buckets have no links. */
  readonly links: number;
}

const filesAtOnce = 4;

/** Writes files into a bucket, but for those that it has already; what else is in it stays. */
export async function fillBucket(
  bucket: Bucket,
  entries: readonly Entry[],
  fileOf: (content: { readonly sha256: string }) => string,
  signal: AbortSignal,
): Promise<Filled> {
  const files = new Map(entries.flatMap((one) => (one.kind === "file" ? [[one.path, one]] : [])));
  const etags = new Map<string, string>();
  for await (const { key, size, etag } of bucket.list("", signal))
    if (files.get(key)?.size === size) etags.set(key, etag.replaceAll('"', ""));
  const written: FileEntry[] = [];
  const put = async (entry: FileEntry, until: AbortSignal) => {
    const file = fileOf(entry);
    const parts = await readParts(file, entry.size);
    if (etags.get(entry.path) === etagOf(parts)) return;
    await bucket.write(entry.path, file, parts, until);
    written.push(entry);
  };
  await workThrough(files.values(), filesAtOnce, put, signal);
  return {
    files: files.size,
    changed: written.length,
    changedBytes: written.reduce((sum, { size }) => sum + size, 0),
    links: entries.filter(({ kind }) => kind === "link").length,
  };
}
