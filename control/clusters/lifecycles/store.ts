import { type Insertable, sql } from "kysely";
import { among, pageRows } from "../../db/lists.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { flag, json, named, rowsOf } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.ts";
import { hookOverAt } from "../hooks/time.ts";
import type { StoredLifecycle } from "./schema.ts";

/** How many lifecycles of a cluster can be shown. */
const shownAtMost = 100;
/** More of a node's own than it is asked for: what it tells of is known. */
const keptOfNode = 40;

const lifecycles = rowsOf<StoredLifecycle>()(
  "lifecycles",
  [
    ...(["id", "clusterId", "rank", "revision", "cause", "because", "status"] as const),
    ...(["hooks", "deadlineAt", "startedAt", "endedAt"] as const),
  ],
  { events: json, runs: json, skipsHooks: named("skip_hooks", flag) },
);

/** Writes a lifecycle as it now is. */
export async function putLifecycle(db: Connection, lifecycle: StoredLifecycle): Promise<void> {
  const { id, cluster_id, rank, ...row } = lifecycles.toRow(lifecycle);
  const isOver = lifecycle.endedAt !== null;
  const changes = { ...row, hook_until: isOver ? (hookOverAt(lifecycle) ?? null) : null };
  await put(db, { id, cluster_id, rank, ...changes });
}

type Row = Insertable<Tables["lifecycles"]>;

const put = statement((db: Connection, row: Row) => {
  const { id, cluster_id, rank, ...changes } = row;
  const changed = Object.keys(changes) as (keyof typeof changes)[];
  return db
    .insertInto("lifecycles")
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(["cluster_id", "id", "rank"])
        .doUpdateSet(({ ref }) =>
          Object.fromEntries(changed.map((column) => [column, ref(`excluded.${column}`)])),
        ),
    );
});

/** What names a lifecycle. */
export type LifecycleKey = Pick<StoredLifecycle, "clusterId" | "id" | "rank">;

export const findLifecycle = (
  db: Queries,
  { clusterId, id, rank }: LifecycleKey,
): Promise<StoredLifecycle | undefined> => lifecycles.find(db, { clusterId, id, rank });

/** By the order in which control came to know of them: the clock of a node may be set at any time. */
const newestFirst = (db: Queries) =>
  // Not of the column itself: SQLite would rather read all of the table in this order.
  db.selectFrom("lifecycles").selectAll().orderBy(sql`-rowid`);

/** The lifecycles of a cluster, newest first. */
export async function listLifecycles(
  db: Queries,
  clusterId: string,
  limit = shownAtMost,
): Promise<StoredLifecycle[]> {
  return (await selectNewest(db, { clusterId, limit })).map(lifecycles.toItem);
}

type Newest = Readonly<{ clusterId: string; limit: number }>;

const selectNewest = statement((db: Queries, { clusterId, limit }: Newest) =>
  newestFirst(db).where("cluster_id", "=", clusterId).limit(limit),
);

/** The lifecycles of a cluster that are under way, newest first. */
export async function listOpen(db: Queries, clusterId: string): Promise<StoredLifecycle[]> {
  return (await selectOpen(db, { clusterId })).map(lifecycles.toItem);
}

const selectOpen = statement((db: Queries, { clusterId }: { readonly clusterId: string }) =>
  newestFirst(db).where("cluster_id", "=", clusterId).where("ended_at", "is", null),
);

/**
 * The lifecycles of these clusters that are under way, or were taken back while their hook goes on, by
 * cluster; those under way first, then newest first.
 */
export async function listGoingOn(
  db: Queries,
  ids: readonly string[],
  at: number,
): Promise<Map<string, StoredLifecycle[]>> {
  const ofThem = newestFirst(db).where("cluster_id", "in", among(ids));
  const open = await ofThem.where("ended_at", "is", null).execute();
  const over = await ofThem.where("hook_until", ">", at).execute();
  return Map.groupBy([...open, ...over].map(lifecycles.toItem), ({ clusterId }) => clusterId);
}

/** Some clusters that have lifecycles, in the order of their ids, after one of them. */
export async function listClusterIds(db: Queries, after: string): Promise<string[]> {
  const rows = await db
    .selectFrom("lifecycles")
    .select("cluster_id")
    .distinct()
    .where("cluster_id", ">", after)
    .orderBy("cluster_id")
    .limit(pageRows)
    .execute();
  return rows.map(({ cluster_id: id }) => id);
}

/** Lifecycles of these clusters that are over and that too many came after. */
export async function listSurplus(
  db: Queries,
  clusterIds: readonly string[],
): Promise<LifecycleKey[]> {
  const placed = db
    .selectFrom("lifecycles")
    .select(["cluster_id", "id", "rank", "ended_at"])
    .select([
      place`partition by cluster_id`.as("place"),
      place`partition by cluster_id, "rank"`.as("place_of_node"),
    ])
    .where("cluster_id", "in", among(clusterIds));
  const rows = await db
    .selectFrom(placed.as("placed"))
    .select(["cluster_id", "id", "rank"])
    .where("ended_at", "is not", null)
    .where("place", ">", shownAtMost)
    .where("place_of_node", ">", keptOfNode)
    .execute();
  return rows.map(({ cluster_id: clusterId, id, rank }) => ({ clusterId, id, rank }));
}

const place = (partition: TemplateStringsArray) =>
  sql<number>`row_number() over (${sql.raw(partition.join(""))} order by started_at desc, "rank")`;

/** Forgets a lifecycle. */
export const dropLifecycle = (
  db: Connection,
  { clusterId, id, rank }: LifecycleKey,
): Promise<void> => lifecycles.drop(db, { clusterId, id, rank });
