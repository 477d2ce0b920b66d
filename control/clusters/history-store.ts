import { type RawBuilder, sql } from "kysely";
import { among, gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";

/** Ids of the clusters that are gone since an instant. */
export async function listGoneSince(db: Queries, since: number): Promise<string[]> {
  const rows = await db
    .selectFrom("clusters")
    .select("id")
    .where("status", "=", gone)
    .where("status_changed_at", ">", since)
    .execute();
  return rows.map(({ id }) => id);
}

interface GoneFilter {
  readonly before: number;
  /** Those of these workspaces stay that were there since an instant. */
  readonly counting: { readonly workspaces: readonly string[]; readonly since: number };
}

/** Ids of clusters that are gone since before an instant. */
export async function listGone(
  db: Queries,
  { before, counting }: GoneFilter,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom("clusters")
    .select("id")
    .where("status", "=", gone)
    .where("status_changed_at", "<", before)
    .where((where) =>
      where.or([
        where("status_changed_at", "<", counting.since),
        where("workspace", "not in", among(counting.workspaces)),
      ]),
    )
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Forgets clusters, what happened to them and what they cost. */
export async function dropClusters(db: Connection, ids: readonly string[]): Promise<void> {
  await db.deleteFrom("lifecycles").where("cluster_id", "in", among(ids)).execute();
  await db.deleteFrom("usage_intervals").where("cluster_id", "in", among(ids)).execute();
  await db
    .deleteFrom("events")
    .where("noun", "=", "cluster")
    .where("subject_id", "in", among(ids))
    .execute();
  await db.deleteFrom("clusters").where("id", "in", among(ids)).execute();
}

/** The reason of the latest move of each of these clusters. */
export async function listLastReasons(
  db: Queries,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const latest = (id: RawBuilder<string>) => sql<string | null>`(
    select reason from events
    where noun = 'cluster' and subject_id = ${id} and to_status is not null
    order by seq desc limit 1)`;
  const given = sql<{ value: string }>`json_each(${JSON.stringify(ids)})`.as("given");
  const rows = await db
    .selectFrom(given)
    .select("given.value as id")
    .select(latest(sql.ref("given.value")).as("reason"))
    .execute();
  return new Map(rows.flatMap(({ id, reason }) => (reason === null ? [] : [[id, reason]])));
}
