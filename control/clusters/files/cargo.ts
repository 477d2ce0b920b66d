import { createHash } from "node:crypto";
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
import { running } from "./contained.ts";
import { openAddress, pinAddress } from "./fetched.ts";
import { mounting } from "./mounted.ts";
import { mountsOf } from "./mounts.ts";
import type { Cargo, Load, Parcel, Scope, UploadedParcel } from "./parcels.ts";
import { readSecretFile } from "./secret-files.ts";
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
  const { uploaded, fetched, mounted, named, cloned, secrets } = mountsOf(task, scope);
  const userId = call.user.id;
  const isSent = uploaded.length > 0 || named.some(({ sources }) => sources.length > 0);
  const blobId = given ?? (isSent ? await ctx.uploads.keepMerged(userId) : undefined);
  if (isSent && blobId === undefined) gone();
  const sent = uploaded.map((file) => ({ ...file, userId, blobId: blobId ?? "" }));
  const command = withoutSecrets(call.command, task);
  const stored: Parcel[] = [];
  for (const bucket of named) {
    const isGiven = blobId !== undefined && bucket.sources.length > 0;
    const entries = isGiven ? await (await openUpload(ctx, userId, blobId)).entries() : [];
    const entriesAt = (place: string) => entriesBelow(entries, place);
    const uploaded = { entriesAt, fileOf: contentsOf(ctx, userId) };
    stored.push(await fillBucket(ctx, bucket, uploaded, { lastUse: command, call }));
  }
  const atCommits = await Promise.all(fetched.map((one) => pinAddress(ctx, one, call.signal)));
  const pinned = await Promise.all(cloned.map((one) => pinCommit(ctx, one, userId, call.signal)));
  const attached = scope === "all" ? await attachedBy(ctx, task, command, call) : [];
  const parcels = [
    ...attached,
    ...sent,
    ...atCommits,
    ...mounted,
    ...stored,
    ...pinned,
    ...secrets,
  ];
  return settleAll(parcels.map((parcel) => readParcel(ctx, parcel, call.signal)));
}

/** What is in a parcel. Throws `NotFoundError` when its upload or bucket is gone. */
export async function readParcel(
  ctx: Context,
  parcel: Parcel,
  signal: AbortSignal,
): Promise<Cargo> {
  if ("container" in parcel) return { parcel, attach: running(parcel) };
  if ("volume" in parcel) return { parcel, attach: await attaching(ctx, parcel) };
  if ("uri" in parcel) return { parcel, open: await openAddress(ctx, parcel, signal) };
  if ("mounted" in parcel) return { parcel, attach: await mounting(ctx, parcel, signal) };
  if ("bucketId" in parcel) return { parcel, open: async () => readStored(ctx, parcel) };
  if ("secret" in parcel) return { parcel, open: async () => readSecretFile(parcel) };
  if ("commit" in parcel) {
    const load = await readCommit(ctx, parcel, signal);
    return { parcel, open: async () => load };
  }
  return openUploaded(ctx, parcel);
}

async function openUploaded(ctx: Context, parcel: UploadedParcel): Promise<Cargo> {
  const { name, userId, blobId, place } = parcel;
  const upload = await openUpload(ctx, userId, blobId);
  const root = pathInUpload(place);
  if (name === "workdir" && (upload.lists("file", root) || upload.lists("link", root)))
    fail("ValueError", "workdir: it is not a folder; jobs start in it, so name the folder");
  const read = async (): Promise<Load> => {
    const entries = entriesBelow(await upload.entries(), place);
    return { entries, contents: { by: "control", fileOf: contentsOf(ctx, userId) } };
  };
  let load: Promise<Load> | undefined;
  const open = () => {
    load ??= read();
    return load;
  };
  const digest = createHash("sha256").update(`${upload.digest} ${root}`).digest("hex");
  return { parcel, digest, open };
}

const openUpload = async (ctx: Context, userId: string, blobId: string) =>
  (await ctx.uploads.open(userId, blobId)) ?? gone();

const contentsOf =
  (ctx: Context, userId: string) =>
  ({ sha256 }: Pick<Content, "sha256">) =>
    ctx.uploads.contentOf(userId, sha256);

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
