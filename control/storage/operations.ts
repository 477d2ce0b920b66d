import { fail } from "../../common/errors.ts";
import { requestOperations } from "../../contract/operations/requests.ts";
import { storageOperations as rows } from "../../contract/operations/storage.ts";
import { type Bound, bind } from "../bind.ts";
import { removeFolder } from "../buckets/folder.ts";
import type { Ground } from "../ground.ts";
import { type Storage, toRecord } from "./schema.ts";
import { deleteStorage, findStorage, listStorages } from "./store.ts";

/** Buckets that tasks name: list and delete. Tasks make them. */
export const storageOperations: Bound[] = [
  bind(rows.list, async ({ db }, _input, { workspaces }) =>
    (await listStorages(db, workspaces)).map(toRecord),
  ),
  bind(rows.delete, async (ctx, { name }) => {
    const storage = await findStorage(ctx.db, name);
    if (storage === undefined) fail("NotFoundError", `there is no storage ${name}`);
    await remove(ctx, storage);
    return null;
  }),
  bind(requestOperations.completeStorageName, async ({ db }, { incomplete }, { workspaces }) =>
    (await listStorages(db, workspaces))
      .map(({ name }) => name)
      .filter((name) => name.startsWith(incomplete)),
  ),
];

/** The row goes first: a folder that is left over after a crash is nobody's, and collected. */
export async function remove(ctx: Ground, { id }: Pick<Storage, "id">): Promise<void> {
  await ctx.batch((tx) => deleteStorage(tx, id));
  await removeFolder(ctx.config.home, id);
}
