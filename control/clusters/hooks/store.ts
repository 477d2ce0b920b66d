import { among } from "../../db/lists.ts";
import type { Connection, Queries } from "../../db/open.ts";

/** The hooks of a cluster as they lie in its row. */
export interface StoredHooks {
  sealed: Uint8Array;
  /** Null: there is none to run. */
  version: string | null;
}

/** What a cluster's hooks are, sealed; null before the first launch that kept any. */
export async function findHooks(db: Queries, id: string): Promise<Uint8Array | null> {
  const row = await db
    .selectFrom("clusters")
    .select("hooks")
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.hooks ?? null;
}

/** The same of these clusters, by id. */
export async function listHooks(
  db: Queries,
  ids: readonly string[],
): Promise<Map<string, Uint8Array>> {
  const rows = await db
    .selectFrom("clusters")
    .select(["id", "hooks"])
    .where("id", "in", among(ids))
    .execute();
  return new Map(rows.flatMap(({ id, hooks }) => (hooks === null ? [] : [[id, hooks]])));
}

/** Replaces the hooks of a cluster. */
export async function setHooks(db: Connection, id: string, { sealed, version }: StoredHooks) {
  await db
    .updateTable("clusters")
    .set({ hooks: sealed, hooks_version: version })
    .where("id", "=", id)
    .execute();
}
