import { listFolders, removeFolder } from "../buckets/folder.ts";
import type { Ground } from "../ground.ts";
import { remove } from "./operations.ts";
import { hasStorage, listOrphaned } from "./store.ts";

/** Deletes storages that were to go with their clusters, and folders whose storage is deleted. */
export async function collectStorages(ctx: Ground): Promise<void> {
  for (const storage of await listOrphaned(ctx.db)) await remove(ctx, storage);
  for (const id of await listFolders(ctx.config.home))
    if (!(await hasStorage(ctx.db, id))) await removeFolder(ctx.config.home, id);
}
