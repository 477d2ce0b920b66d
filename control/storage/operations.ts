import { fail } from "../../common/errors.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import { storageOperations as rows } from "../../contract/operations/storage.ts";
import { type Bound, bind } from "../bind.ts";
import { removeFolder } from "../buckets/folder.ts";
import { openBucket } from "../buckets/stores.ts";
import type { Ground } from "../ground.ts";
import { isInStore, mayBeForeign, type Storage, toRecord } from "./schema.ts";
import { deleteStorage, findKeys, findStorage, listStorages } from "./store.ts";

/** Buckets that tasks name: list and delete. Tasks make them. */
export const storageOperations: Bound[] = [
  bind(rows.list, async ({ db }, _input, { workspaces }) =>
    (await listStorages(db, workspaces)).map(toRecord),
  ),
  bind(rows.delete, async (ctx, { name }, { signal }) => {
    const storage = await findStorage(ctx.db, name);
    if (storage === undefined) fail("NotFoundError", `there is no storage ${name}`);
    await remove(ctx, storage, signal);
    return null;
  }),
  bind(requestOperations.completeStorageName, async ({ db }, { incomplete }, { workspaces }) =>
    (await listStorages(db, workspaces))
      .map(({ name }) => name)
      .filter((name) => name.startsWith(incomplete)),
  ),
];

/** Deletes a storage with all that is in it, but no files that may be somebody else's. Throws as its bucket does, which may be gone already. */
export async function remove(ctx: Ground, storage: Storage, signal: AbortSignal): Promise<void> {
  const { id } = storage;
  if (isInStore(storage)) {
    const keys = await findKeys(ctx.db, ctx.seal, id);
    const { bucket } = openBucket(ctx, id, keys);
    const found = await bucket.look(signal);
    if (found !== "missing" && !mayBeForeign(storage, found)) await bucket.destroy(signal);
  }
  await ctx.batch((tx) => deleteStorage(tx, id));
  // A crash may leave parts of a folder behind; they are collected.
  if (!isInStore(storage)) await removeFolder(ctx.config.home, id);
}
