import { listFolders, removeFolder } from "../buckets/folder.ts";
import type { Ground } from "../ground.ts";
import { settleAll } from "../settle-all.ts";
import { remove } from "./operations.ts";
import { hasStorage, listOrphaned } from "./store.ts";

/** Deletes storages that were to go with their clusters, and folders whose storage is deleted. */
export async function collectStorages(
  ctx: Ground,
  signal = new AbortController().signal,
): Promise<void> {
  for (const id of await listFolders(ctx.config.home))
    if (!(await hasStorage(ctx.db, id))) await removeFolder(ctx.config.home, id);
  // A store that refuses holds up no other one.
  await settleAll((await listOrphaned(ctx.db)).map((storage) => remove(ctx, storage, signal)));
}
