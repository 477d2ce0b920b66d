import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";

/** Marks that the nodes of a cluster run from now on. */
export async function beginUsage(db: Connection, id: string, at: number): Promise<void> {
  const [open] = await selectOpen(db, { id });
  if (open === undefined) await insert(db, { cluster_id: id, started_at: at });
}

const selectOpen = statement((db: Queries, { id }: { readonly id: string }) =>
  db
    .selectFrom("usage_intervals")
    .select("started_at")
    .where("cluster_id", "=", id)
    .where("ended_at", "is", null),
);

type Begun = { readonly cluster_id: string; readonly started_at: number };

const insert = statement((db: Connection, row: Begun) =>
  db.insertInto("usage_intervals").values(row),
);

/** Marks that no node of a cluster runs any more. */
export async function endUsage(db: Connection, id: string, at: number): Promise<void> {
  await end(db, { at, id });
}

const end = statement((db: Connection, { at, id }: { readonly at: number; readonly id: string }) =>
  db
    .updateTable("usage_intervals")
    .set({ ended_at: at })
    .where("cluster_id", "=", id)
    .where("ended_at", "is", null),
);

/** When the nodes of these clusters ran: pairs of start and end, oldest first. */
export async function listUsage(
  db: Queries,
  ids: readonly string[],
): Promise<Map<string, [start: number, end: number | null][]>> {
  const rows = await db
    .selectFrom("usage_intervals")
    .selectAll()
    .where("cluster_id", "in", among(ids))
    .orderBy("started_at")
    .execute();
  const byCluster = new Map<string, [number, number | null][]>();
  for (const { cluster_id: id, started_at: start, ended_at: end } of rows) {
    const intervals = byCluster.get(id) ?? [];
    byCluster.set(id, intervals);
    intervals.push([start, end]);
  }
  return byCluster;
}
