import { fail } from "../../../common/errors.ts";
import type { Content, Entry } from "../../../contract/files-api.ts";
import type { Task } from "../../../contract/task.ts";
import type { Call } from "../../bind.ts";
import type { Context } from "../../context.ts";
import { settleAll } from "../../settle-all.ts";
import { withoutSecrets } from "../../task.ts";
import { pathInUpload } from "../../wire/upload-place.ts";
import { attachedBy, attaching } from "./attached.ts";
import { pinCommit, readCommit } from "./cloned.ts";
import { openAddress, pinAddress } from "./fetched.ts";
import { mounting } from "./mounted.ts";
import { mountsOf, type Scope } from "./mounts.ts";
import type { Cargo, Parcel, StoredParcel } from "./parcels.ts";
import { fillBucket, readStored } from "./stored.ts";

interface Upload {
  readonly file_mounts_blob_id?: string | null | undefined;
}

/** Throws for files of a task that its client did not send. */
export function checkFiles(task: Task, scope: Scope): void {
  mountsOf(task, scope);
}

/**
 * The files of a task as its client sent them, or as they now are in buckets, once those that go into a bucket
 * are there. Throws `NotFoundError` when they are gone.
 */
export async function readCargo(
  ctx: Context,
  task: Task,
  { file_mounts_blob_id: given = null }: Upload,
  scope: Scope,
  call: Call,
): Promise<Cargo[]> {
  const { uploaded, fetched, mounted, named, cloned } = mountsOf(task, scope);
  const userId = call.user.id;
  const isSent = uploaded.length > 0 || named.some(({ sources }) => sources.length > 0);
  const blobId = given ?? (isSent ? await ctx.uploads.keepMerged(userId) : undefined);
  if (isSent && blobId === undefined) gone();
  const sent = uploaded.map((file) => ({ ...file, userId, blobId: blobId ?? "" }));
  const command = withoutSecrets(call.command, task);
  const stored: StoredParcel[] = [];
  for (const bucket of named) {
    const { entries, fileOf } = await readUpload(ctx, userId, bucket.sources[0] && blobId);
    const entriesAt = (place: string) => entriesBelow(entries, place);
    stored.push(await fillBucket(ctx, bucket, { entriesAt, fileOf }, command, call));
  }
  const atCommits = await Promise.all(fetched.map((one) => pinAddress(ctx, one, call.signal)));
  const pinned = await Promise.all(cloned.map((one) => pinCommit(ctx, one, userId, call.signal)));
  const attached = scope === "all" ? await attachedBy(ctx, task, command, call) : [];
  const parcels = [...attached, ...sent, ...atCommits, ...mounted, ...stored, ...pinned];
  return settleAll(parcels.map((parcel) => readParcel(ctx, parcel, call.signal)));
}

/** What is in a parcel. Throws `NotFoundError` when its upload or bucket is gone. */
export async function readParcel(
  ctx: Context,
  parcel: Parcel,
  signal: AbortSignal,
): Promise<Cargo> {
  if ("volume" in parcel) return { parcel, attach: await attaching(ctx, parcel) };
  if ("uri" in parcel) return { parcel, open: await openAddress(ctx, parcel, signal) };
  if ("mounted" in parcel) return { parcel, attach: await mounting(ctx, parcel, signal) };
  if ("bucketId" in parcel) return { parcel, open: async () => readStored(ctx, parcel) };
  if ("commit" in parcel) {
    const load = await readCommit(ctx, parcel, signal);
    return { parcel, open: async () => load };
  }
  const { name, userId, blobId, place } = parcel;
  const { entries: all, fileOf } = await readUpload(ctx, userId, blobId);
  const entries = entriesBelow(all, place);
  if (name === "workdir" && entries.some(({ kind, path }) => path === "" && kind !== "folder"))
    fail("ValueError", "workdir: it is not a folder; jobs start in it, so name the folder");
  return { parcel, open: async () => ({ entries, contents: { by: "control", fileOf } }) };
}

/** What an upload holds, and the file of each of its contents; without one, nothing. */
async function readUpload(ctx: Context, userId: string, blobId: string | undefined) {
  const entries = blobId === undefined ? [] : await ctx.uploads.read(userId, blobId);
  const fileOf = ({ sha256 }: Pick<Content, "sha256">) => ctx.uploads.contentOf(userId, sha256);
  return { entries: entries ?? gone(), fileOf };
}

const gone = (): never =>
  fail("NotFoundError", "the uploaded files of the task have been deleted; launch again");

/** What lies at and below a place of an upload, by paths from there; a folder where it is empty. */
function entriesBelow(files: readonly Entry[], place: string): Entry[] {
  const root = pathInUpload(place);
  const below = files.flatMap((entry): Entry[] => {
    if (entry.path === root) return [{ ...entry, path: "" }];
    if (!entry.path.startsWith(`${root}/`)) return [];
    return [{ ...entry, path: entry.path.slice(root.length + 1) }];
  });
  const isThere = below.some(({ path }) => path === "");
  return isThere ? below : [{ kind: "folder", path: "" }, ...below];
}
