import { randomUUID } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import type { Entry } from "../../../contract/files-api.ts";
import { baseNameOf } from "../../../contract/task/storage-uri.ts";
import { addToFolder, contentIn, readFolder } from "../../buckets/folder.ts";
import type { Ground } from "../../ground.ts";
import { isInStore, type Storage } from "../../storage/schema.ts";
import {
  claim,
  findOwn,
  type NamedBucket,
  refuseAbsent,
  setStatus,
  type Use,
} from "./claimed-bucket.ts";
import { type BucketFiles, fillInStore } from "./in-store.ts";
import type { FetchedParcel, Load, MountedParcel, StoredParcel } from "./parcels.ts";

/** What lies below a place of an upload, and the file of a content. */
interface Uploaded {
  entriesAt(place: string): readonly Entry[];
  fileOf(content: { readonly sha256: string }): string;
}

/** Puts the sources of a bucket into it, which is made for that. Throws for one that is not the caller's. */
export async function fillBucket(
  ctx: Ground,
  named: NamedBucket,
  { entriesAt, fileOf }: Uploaded,
  use: Use,
): Promise<StoredParcel | FetchedParcel | MountedParcel> {
  const before = await findOwn(ctx, named, use);
  const files = { entries: entriesIn(named, entriesAt), fileOf };
  const uri = named.uri ?? (before && isInStore(before) ? before.id : undefined);
  if (uri !== undefined) return fillInStore(ctx, { ...named, uri }, before, files, use);
  return fillFolder(ctx, named, before, files, use);
}

/** What the sources of a bucket come to in it. */
function entriesIn({ name, sources, isList }: NamedBucket, entriesAt: Uploaded["entriesAt"]) {
  return sources.flatMap(({ path, place }) => {
    const below = isList ? baseNameOf(path) : "";
    const entries = entriesAt(place).flatMap((entry) => into(below, entry));
    if (entries.some((entry) => entry.path === ""))
      fail("ValueError", `${name}: ${path} is a file; give it as a list: [${path}]`);
    return entries;
  });
}

/** The root of a bucket is no entry of its own. */
function into(below: string, entry: Entry): Entry[] {
  const path = [below, entry.path].filter(Boolean).join("/");
  return path === "" && entry.kind === "folder" ? [] : [{ ...entry, path }];
}

async function fillFolder(
  ctx: Ground,
  named: NamedBucket,
  before: Storage | undefined,
  { entries, fileOf }: BucketFiles,
  use: Use,
): Promise<StoredParcel> {
  const { name, destination, sources, isPersistent } = named;
  if (before === undefined && sources.length === 0) refuseAbsent(named);
  const beginning = { id: randomUUID(), status: "INIT" } as const;
  const { id, isNew } = await claim(ctx, named, before, beginning, use);
  if (sources.length > 0) await addToFolder(ctx.config.home, id, entries, fileOf);
  await setStatus(ctx, id, "READY", use);
  // One that was there before is somebody's, whatever this task says of it.
  return { name, destination, bucketId: id, passing: isNew && !isPersistent ? id : undefined };
}

/** What is in a bucket now. */
export async function readStored(
  { config: { home } }: Ground,
  { bucketId }: StoredParcel,
): Promise<Load> {
  const entries = await readFolder(home, bucketId);
  const root: Entry = { kind: "folder", path: "" };
  const fileOf = ({ sha256 }: { sha256: string }) => contentIn(home, bucketId, sha256);
  return { entries: [root, ...entries], contents: { by: "control", fileOf } };
}
