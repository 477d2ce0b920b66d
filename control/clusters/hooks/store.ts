import { among } from "../../db/lists.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { statement } from "../../db/statement.ts";

/** The hooks of a cluster as they lie in its row. */
export type StoredHooks = {
  readonly sealed: Uint8Array;
  /** Null: there is none to run. */
  readonly version: string | null;
};

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
  await update(db, { sealed, version, id });
}

const update = statement((db: Connection, given: StoredHooks & { readonly id: string }) =>
  db
    .updateTable("clusters")
    .set({ hooks: given.sealed, hooks_version: given.version })
    .where("id", "=", given.id),
);
