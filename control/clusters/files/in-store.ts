import { fail, toAppError } from "../../../common/errors.ts";
import type { Entry } from "../../../contract/files-api.ts";
import type { Bucket } from "../../buckets/bucket.ts";
import { type Filled, fillBucket } from "../../buckets/fill.ts";
import { openBucket } from "../../buckets/stores.ts";
import type { Ground } from "../../ground.ts";
import { mayBeForeign, type Storage } from "../../storage/schema.ts";
import { deleteStorage, findKeys } from "../../storage/store.ts";
import {
  claim,
  findOwn,
  type NamedBucket,
  refuseAbsent,
  setStatus,
  type Use,
} from "./claimed-bucket.ts";
import { refuseWithoutKeys } from "./mounted.ts";
import type { FetchedParcel, MountedParcel } from "./parcels.ts";
import { describeOffer } from "./text.ts";

/** The files that go into a bucket, by their paths there. */
export interface BucketFiles {
  readonly entries: readonly Entry[];
  fileOf(content: { readonly sha256: string }): string;
}

type InStore = NamedBucket & { readonly uri: string };

/**
 * Makes a bucket in a store and uploads what it lacks. One that was there before control knew of it stays its
 * owner's: no record is kept of it.
 */
export async function fillInStore(
  ctx: Ground,
  named: InStore,
  before: Storage | undefined,
  { entries, fileOf }: BucketFiles,
  use: Use,
): Promise<FetchedParcel | MountedParcel> {
  const { name, destination, uri, sources, isPersistent, mounted } = named;
  const { signal, print } = use.call;
  const own = named.keysOf(uri);
  if (mounted !== undefined && own === undefined) refuseWithoutKeys(name, uri);
  const keys = own ?? (before && (await findKeys(ctx.db, ctx.seal, before.id)));
  const { bucket } = openBucket(ctx, uri, keys);
  const claimed = await claimMade(ctx, bucket, named, use);
  if (claimed === undefined && own === undefined && sources.length > 0) refuseForeign(named);
  if (sources.length > 0) {
    const filled = await fillBucket(bucket, entries, fileOf, signal);
    print(`${name}: ${describeFilled(filled, uri)}\n`);
  }
  if (claimed !== undefined) await setStatus(ctx, claimed.id, "READY", use);
  const passing = claimed?.isNew && !isPersistent ? claimed.id : undefined;
  return { name, destination, passing, ...(mounted ? { mounted } : { uri, keys }) };
}

/** The storage of a bucket, which is made where it does not exist; undefined for one that control did not make. */
async function claimMade(ctx: Ground, bucket: Bucket, named: InStore, use: Use) {
  const { signal } = use.call;
  const found = await bucket.look(signal);
  // Read after the look: another launch may make it now.
  const before = await findOwn(ctx, named, use);
  const isMissing = found === "missing";
  if (!isMissing && (before === undefined || mayBeForeign(before, found))) return undefined;
  if (isMissing && named.mounted === undefined && named.sources.length === 0) refuseAbsent(named);
  // It is recorded before it exists, so that a control that is killed here leaves none that nobody knows of.
  const beginning = {
    id: named.uri,
    keys: named.keysOf(named.uri),
    status: "INIT_FAILED",
  } as const;
  const claimed = await claim(ctx, named, before, beginning, use);
  if (isMissing) await make(ctx, bucket, claimed, signal);
  if (before?.status !== "READY") await setStatus(ctx, claimed.id, "INIT", use);
  return claimed;
}

/** Makes a bucket. A new storage whose bucket the store refuses to make is forgotten. */
async function make(
  ctx: Ground,
  bucket: Bucket,
  { id, isNew }: { id: string; isNew: boolean },
  signal: AbortSignal,
): Promise<void> {
  try {
    await bucket.make(signal);
  } catch (error) {
    const isRefused = ["ConflictError", "PermissionDeniedError"].includes(toAppError(error).type);
    if (isNew && isRefused) await ctx.batch((tx) => deleteStorage(tx, id));
    throw error;
  }
}

/** Control's own keys write to the buckets alone that control made. */
const refuseForeign = ({ name, uri }: InStore): never =>
  fail(
    "PermissionDeniedError",
    `${name}: ${uri} exists and is not a storage of this control plane; pass keys of the task that may write it, or choose another name`,
    { bucket: uri },
  );

function describeFilled({ links, ...filled }: Filled, uri: string): string {
  const left = links > 0 ? `; ${links} links left out, which buckets do not have` : "";
  return `${describeOffer({ ...filled, removed: 0 })} in ${uri}${left}`;
}
