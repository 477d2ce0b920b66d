import type { Seal } from "../../common/seal.ts";
import type { Keys } from "../buckets/sigv4.ts";
import type { Connection, Queries } from "../db/open.ts";
import { named, rowsOf, user } from "../db/rows.ts";
import { deleteSecretsOf, findValue, putSecret } from "../secrets/store.ts";
import type { Storage } from "./schema.ts";

const storages = rowsOf<Storage>()(
  "storages",
  ["name", "id", "workspace", "createdAt", "lastUse"],
  { user, status: named("status") },
);

/** The storage of this name. */
export const findStorage = (db: Queries, name: string): Promise<Storage | undefined> =>
  storages.find(db, { name });

/** The workspace of a storage. */
export const findStorageWorkspace = async (
  db: Queries,
  name: string,
): Promise<string | undefined> => (await findStorage(db, name))?.workspace;

/** The storages of some workspaces, by name; null is of all. */
export async function listStorages(
  db: Queries,
  workspaces: readonly string[] | null,
): Promise<Storage[]> {
  const query = db.selectFrom("storages").selectAll().orderBy("name");
  const seen = workspaces === null ? query : query.where("workspace", "in", workspaces);
  return (await seen.execute()).map(storages.toItem);
}

/** Writes a new storage; false when there is one of that name. */
export const addStorage = (db: Connection, storage: Storage): Promise<boolean> =>
  storages.add(db, storage);

/** Records that a storage was used, and how it is since. */
export const setUse = (
  db: Connection,
  id: string,
  { status, lastUse }: Pick<Storage, "status" | "lastUse">,
): Promise<void> => storages.change(db, { id }, { status, lastUse });

/** Has storages go with a cluster. */
export async function tieToCluster(
  db: Connection,
  ids: readonly string[],
  clusterId: string,
): Promise<void> {
  if (ids.length === 0) return;
  const values = { cluster_id: clusterId };
  await db.updateTable("storages").set(values).where("id", "in", ids).execute();
}

/** Storages whose cluster is gone. */
export async function listOrphaned(db: Queries): Promise<Storage[]> {
  const rows = await db
    .selectFrom("storages")
    .selectAll()
    .where("cluster_id", "is not", null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("clusters")
            .select("clusters.id")
            .whereRef("clusters.id", "=", "storages.cluster_id")
            .where("clusters.status", "<>", "GONE"),
        ),
      ),
    )
    .execute();
  return rows.map(storages.toItem);
}

/** Whether there is a storage with this id. */
export const hasStorage = async (db: Queries, id: string): Promise<boolean> =>
  (await db.selectFrom("storages").select("id").where("id", "=", id).executeTakeFirst()) !==
  undefined;

/** The keys that its bucket was last used with; undefined where those were control's. */
export async function findKeys(db: Queries, seal: Seal, id: string): Promise<Keys | undefined> {
  const sealed = await findValue(db, seal, { scope: "storage", owner: id }, keysName);
  return sealed && JSON.parse(sealed);
}

/** Remembers the keys of a bucket, to delete it with them. */
export const setKeys = (
  db: Connection,
  seal: Seal,
  { id, user, createdAt }: Storage,
  keys: Keys,
): Promise<void> => {
  const secret = { name: keysName, userName: user.name, updatedAt: createdAt };
  return putSecret(db, seal, { scope: "storage", owner: id, ...secret }, JSON.stringify(keys));
};

const keysName = "keys";

/** Forgets a storage; false when it is not there any more. */
export async function deleteStorage(db: Connection, id: string): Promise<boolean> {
  await deleteSecretsOf(db, "storage", [id]);
  const query = db.deleteFrom("storages").where("id", "=", id);
  return (await query.executeTakeFirstOrThrow()).numDeletedRows === 1n;
}
