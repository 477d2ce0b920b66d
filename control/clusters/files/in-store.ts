import { fail } from "../../../common/errors.ts";
import type { Entry } from "../../../contract/files-api.ts";
import type { Bucket } from "../../buckets/bucket.ts";
import { type Filled, fillBucket } from "../../buckets/fill.ts";
import { openBucket } from "../../buckets/stores.ts";
import type { Ground } from "../../ground.ts";
import type { Storage } from "../../storage/schema.ts";
import { findKeys } from "../../storage/store.ts";
import { claim, type NamedBucket, refuseAbsent, setReady, type Use } from "./claimed-bucket.ts";
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
  const isMade = await make(bucket, named, signal);
  const isOurs = isMade || before !== undefined;
  if (!isOurs && own === undefined && sources.length > 0) refuseForeign(named);
  const claimed = isOurs ? await claim(ctx, named, before, { id: uri, keys: own }, use) : undefined;
  if (sources.length > 0) {
    const filled = await fillBucket(bucket, entries, fileOf, signal);
    print(`${name}: ${describeFilled(filled, uri)}\n`);
  }
  if (claimed !== undefined) await setReady(ctx, claimed.id, use);
  const passing = claimed?.isNew && !isPersistent ? claimed.id : undefined;
  return { name, destination, passing, ...(mounted ? { mounted } : { uri, keys }) };
}

/** Makes a bucket that is not there yet; false for one that is. */
async function make(bucket: Bucket, named: InStore, signal: AbortSignal): Promise<boolean> {
  if (await bucket.isThere(signal)) return false;
  if (named.mounted === undefined && named.sources.length === 0) refuseAbsent(named);
  await bucket.make(signal);
  return true;
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
