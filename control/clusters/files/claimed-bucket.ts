import { fail } from "../../../common/errors.ts";
import { listedBy } from "../../../contract/spelling.ts";
import { seesWorkspace } from "../../access/identity.ts";
import type { Call } from "../../bind.ts";
import type { Keys } from "../../buckets/sigv4.ts";
import type { Ground } from "../../ground.ts";
import type { Storage } from "../../storage/schema.ts";
import { addStorage, findStorage, setKeys, setUse } from "../../storage/store.ts";
import type { MountedParcel } from "./parcels.ts";

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
  /** Its address in a store; undefined for one in control's folder, or wherever it is already. */
  readonly uri: string | undefined;
  /** The keys of the task for an address. */
  keysOf(uri: string): Keys | undefined;
  /** Undefined for one that is copied. */
  readonly mounted: MountedParcel["mounted"] | undefined;
}

/** Whose command names a bucket. */
export interface Use {
  readonly lastUse: string;
  readonly call: Call;
}

/** The storage of a bucket; undefined where there is none yet. Throws for one that is not the caller's, or elsewhere. */
export async function findOwn(
  { db }: Pick<Ground, "db">,
  named: NamedBucket,
  { call }: Pick<Use, "call">,
): Promise<Storage | undefined> {
  const { name, bucket, sources, uri } = named;
  const found = await findStorage(db, bucket);
  if (found === undefined) return undefined;
  if (!seesWorkspace(call, found.workspace))
    return sources.length === 0 ? refuseAbsent(named) : refuseTaken(bucket);
  if (uri !== undefined && uri !== found.id)
    fail("ConflictError", `${name}: there is a storage ${bucket} already, which is not ${uri}`, {
      bucket,
    });
  return found;
}

/** Throws for a bucket that is to be there and is not. */
export const refuseAbsent = ({ name, bucket }: NamedBucket): never =>
  fail("NotFoundError", `${name}: there is no storage ${bucket}; ${listedBy("storage ls")}`);

const refuseTaken = (bucket: string): never =>
  fail(
    "ConflictError",
    `the name ${bucket} is taken by a storage in a workspace that is not yours; choose another name`,
    { bucket },
  );

/** Where a new storage is, with the keys that it came with, and how far it is. */
interface Beginning {
  readonly id: string;
  readonly keys?: Keys | undefined;
  readonly status: Storage["status"];
}

/** Records the storage of a bucket, which may be there before; its id, and whether it is new. */
export async function claim(
  ctx: Ground,
  named: NamedBucket,
  before: Storage | undefined,
  { id, keys, status }: Beginning,
  use: Use,
): Promise<{ id: string; isNew: boolean }> {
  const { call, lastUse } = use;
  const storage = before ?? {
    ...{ name: named.bucket, id, workspace: call.workspace, lastUse },
    user: { id: call.user.id, name: call.user.name },
    status,
    createdAt: ctx.now().getTime(),
  };
  const isNew = await ctx.batch(async (tx) => {
    const isAdded = before === undefined && (await addStorage(tx, storage));
    if (keys && (isAdded || before)) await setKeys(tx, ctx.seal, storage, keys);
    return isAdded;
  });
  if (isNew || before !== undefined) return { id: storage.id, isNew };
  const meanwhile = await findOwn(ctx, named, use);
  return { id: meanwhile?.id ?? refuseTaken(named.bucket), isNew };
}

/** Records how far a storage is. */
export const setStatus = (
  ctx: Ground,
  id: string,
  status: Storage["status"],
  { lastUse }: Use,
): Promise<void> => ctx.batch((tx) => setUse(tx, id, { status, lastUse }));
