import { randomUUID } from "node:crypto";
import { fail } from "../../../common/errors.ts";
import type { Entry } from "../../../contract/files-api.ts";
import { listedBy } from "../../../contract/spelling.ts";
import { baseNameOf } from "../../../contract/task/storage-uri.ts";
import { seesWorkspace } from "../../access/identity.ts";
import type { Call } from "../../bind.ts";
import { addToFolder, contentIn, readFolder } from "../../buckets/folder.ts";
import type { Ground } from "../../ground.ts";
import type { Storage } from "../../storage/schema.ts";
import { addStorage, findStorage, setUse } from "../../storage/store.ts";
import type { Load, StoredParcel } from "./parcels.ts";

/** A bucket that a task names, and which uploaded files go into it. */
export interface NamedBucket {
  readonly name: string;
  readonly destination: string;
  readonly bucket: string;
  readonly isPersistent: boolean;
  /** Empty for one that is there already. */
  readonly sources: readonly { readonly path: string; readonly place: string }[];
  /** A single source is the bucket's root; several lie in it by their names. */
  readonly isList: boolean;
}

/** What lies below a place of an upload, and the file of a content. */
interface Uploaded {
  entriesAt(place: string): readonly Entry[];
  fileOf(content: { readonly sha256: string }): string;
}

/** Puts the sources of a bucket into it, which is made for that. Throws for one that is not the caller's. */
export async function fillBucket(
  ctx: Ground,
  named: NamedBucket,
  uploaded: Uploaded,
  lastUse: string,
  call: Call,
): Promise<StoredParcel> {
  const { name, destination, isPersistent, sources, isList } = named;
  const { storage, isNew } = await claim(ctx, named, lastUse, call);
  for (const { path, place } of sources) {
    const below = isList ? baseNameOf(path) : "";
    const entries = uploaded.entriesAt(place).flatMap((entry) => into(below, entry));
    if (entries.some((entry) => entry.path === ""))
      fail("ValueError", `${name}: ${path} is a file; give it as a list: [${path}]`);
    await addToFolder(ctx.config.home, storage.id, entries, uploaded.fileOf);
  }
  await ctx.batch((tx) => setUse(tx, storage.id, { status: "READY", lastUse }));
  // One that was there before is somebody's, whatever this task says of it.
  return { name, destination, bucketId: storage.id, isPersistent: isPersistent || !isNew };
}

/** The root of a bucket is no entry of its own. */
function into(below: string, entry: Entry): Entry[] {
  const path = [below, entry.path].filter(Boolean).join("/");
  return path === "" && entry.kind === "folder" ? [] : [{ ...entry, path }];
}

async function claim(
  ctx: Ground,
  { name, bucket, sources }: NamedBucket,
  lastUse: string,
  call: Call,
): Promise<{ storage: Storage; isNew: boolean }> {
  const found = await findStorage(ctx.db, bucket);
  if (found !== undefined && seesWorkspace(call, found.workspace))
    return { storage: found, isNew: false };
  if (sources.length === 0)
    fail("NotFoundError", `${name}: there is no storage ${bucket}; ${listedBy("storage ls")}`);
  const storage: Storage = {
    name: bucket,
    id: randomUUID(),
    workspace: call.workspace,
    user: { id: call.user.id, name: call.user.name },
    status: "INIT",
    createdAt: ctx.now().getTime(),
    lastUse,
  };
  if (found === undefined && (await ctx.batch((tx) => addStorage(tx, storage))))
    return { storage, isNew: true };
  const again = await findStorage(ctx.db, bucket);
  if (again !== undefined && seesWorkspace(call, again.workspace))
    return { storage: again, isNew: false };
  return fail(
    "ConflictError",
    `the name ${bucket} is taken by a storage in a workspace that is not yours`,
  );
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
