import type { Connection } from "../db/open.ts";

/** Ids of clusters that are gone since before an instant. */
export async function listGone(db: Connection, before: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom("clusters")
    .select("id")
    .where("status", "=", "GONE")
    .where("status_changed_at", "<", before)
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Forgets clusters, what happened to them and what they cost. */
export async function dropClusters(db: Connection, ids: readonly string[]): Promise<void> {
  await db.deleteFrom("lifecycles").where("cluster_id", "in", ids).execute();
  await db.deleteFrom("usage_intervals").where("cluster_id", "in", ids).execute();
  await db
    .deleteFrom("events")
    .where("noun", "=", "cluster")
    .where("subject_id", "in", ids)
    .execute();
  await db.deleteFrom("clusters").where("id", "in", ids).execute();
}

/** The reason of the latest move of each live cluster. */
export async function listLastEvents(db: Connection): Promise<Map<string, string>> {
  const latest = db
    .selectFrom("events")
    .innerJoin("clusters", "clusters.id", "events.subject_id")
    .select(({ fn }) => fn.max("events.seq").as("seq"))
    .where("clusters.status", "<>", "GONE")
    .where("events.noun", "=", "cluster")
    .where("events.to_status", "is not", null)
    .groupBy("events.subject_id");
  const rows = await db
    .selectFrom("events")
    .select(["subject_id", "reason"])
    .where("seq", "in", latest)
    .execute();
  return new Map(rows.map(({ subject_id: id, reason }) => [id, reason]));
}
