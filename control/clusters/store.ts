import type { Selectable } from "kysely";
import { fail } from "../../common/errors.ts";
import type { Seal } from "../../common/seal.ts";
import type { Connection } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import type { Failure } from "../requests/schema.ts";
import type { KeptParcel } from "./files/kept.ts";
import type { Cluster, Wanted } from "./schema.ts";

/** What every reader needs; the hooks may be large, and few do. */
const columns = [
  ...["id", "name", "status", "wanted", "wanted_because", "user_id", "user_name"],
  ...["workspace", "provider", "nodes", "offer", "addresses", "ports", "labels", "task_yaml"],
  ...["command", "autostop", "problem", "ever_up", "launched_at", "status_changed_at"],
  ...["hooks_version", "skip_hooks", "made_for"],
] as const;

/** Writes a new cluster; false when a live one has the name. */
export async function addCluster(db: Connection, cluster: Cluster): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("clusters")
    .values(toRow(cluster))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** The cluster with this id, also one that is gone. */
export async function findCluster(db: Connection, id: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(columns)
    .where("id", "=", id)
    .executeTakeFirst();
  return row && toCluster(row);
}

/** As `findCluster`; throws `ClusterDoesNotExist`. */
export async function getCluster(db: Connection, id: string): Promise<Cluster> {
  return (await findCluster(db, id)) ?? fail("ClusterDoesNotExist", `there is no cluster ${id}`);
}

/** The live cluster of this name. */
export async function findLive(db: Connection, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(columns)
    .where("name", "=", name)
    .where("status", "<>", "GONE")
    .executeTakeFirst();
  return row && toCluster(row);
}

/** The newest cluster of this name, also one that is gone. */
export async function findLatest(db: Connection, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(columns)
    .where("name", "=", name)
    .orderBy("launched_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && toCluster(row);
}

/** Every live cluster, newest launch first. */
export async function listLive(db: Connection): Promise<Cluster[]> {
  const rows = await db
    .selectFrom("clusters")
    .select(columns)
    .where("status", "<>", "GONE")
    .orderBy("launched_at", "desc")
    .execute();
  return rows.map(toCluster);
}

/** Live clusters, and those that left since an instant, newest launch first. */
export async function listSince(db: Connection, since: number): Promise<Cluster[]> {
  const rows = await db
    .selectFrom("clusters")
    .select(columns)
    .where((where) =>
      where.or([where("status", "<>", "GONE"), where("status_changed_at", ">=", since)]),
    )
    .orderBy("launched_at", "desc")
    .execute();
  return rows.map(toCluster);
}

/** Ids of the blobs that nodes of live clusters would need were they made anew. */
export async function listLiveBlobs(db: Connection, seal: Seal): Promise<string[]> {
  const rows = await db
    .selectFrom("clusters")
    .select("parcels")
    .where("status", "<>", "GONE")
    .where("parcels", "is not", null)
    .execute();
  const parcels = rows.flatMap(({ parcels }): KeptParcel[] =>
    parcels === null ? [] : JSON.parse(seal.open(parcels)),
  );
  return parcels.map(({ blobId }) => blobId);
}

/** Names of live clusters that begin with a text. */
export async function listLiveNames(db: Connection, prefix: string, limit: number) {
  const rows = await db
    .selectFrom("clusters")
    .select("name")
    .where("status", "<>", "GONE")
    .where("name", ">=", prefix)
    .where("name", "<", `${prefix}\u{10ffff}`)
    .orderBy("name")
    .limit(limit)
    .execute();
  return rows.map(({ name }) => name);
}

/** Ids of live clusters that are not what is wanted. */
export async function listUnsettled(db: Connection): Promise<string[]> {
  const rows = await db
    .selectFrom("clusters")
    .select("id")
    .where("status", "<>", "GONE")
    .where((where) => where("status", "<>", where.ref("wanted") as never))
    .execute();
  return rows.map(({ id }) => id);
}

/** Ids of the clusters that are up. */
export async function listUp(db: Connection): Promise<string[]> {
  const rows = await db.selectFrom("clusters").select("id").where("status", "=", "UP").execute();
  return rows.map(({ id }) => id);
}

/** Forgets why an earlier attempt failed, as there is a new wish, and sets whether its hooks are skipped. */
export async function setFresh(
  db: Connection,
  id: string,
  { skipHooks }: Pick<Cluster, "skipHooks">,
): Promise<void> {
  await db
    .updateTable("clusters")
    .set({ problem: null, skip_hooks: skipHooks ? 1 : 0 })
    .where("id", "=", id)
    .execute();
}

/** Keeps why what was wanted could not be reached; does nothing once something else is wanted. */
export async function setProblem(
  db: Connection,
  { id, wanted }: Pick<Cluster, "id" | "wanted">,
  problem: Failure | null,
) {
  const text = problem && JSON.stringify(problem);
  await db
    .updateTable("clusters")
    .set({ problem: text })
    .where("id", "=", id)
    .where("wanted", "=", wanted)
    .execute();
}

/** Marks that a cluster is up, and where its nodes are reached. */
export async function setUp(db: Connection, id: string, addresses: string[]): Promise<void> {
  await db
    .updateTable("clusters")
    .set({ ever_up: 1, addresses: JSON.stringify(addresses) })
    .where("id", "=", id)
    .execute();
}

type Row = Pick<Selectable<Tables["clusters"]>, (typeof columns)[number]>;

const toRow = (cluster: Cluster): Row => ({
  id: cluster.id,
  name: cluster.name,
  status: cluster.status,
  wanted: cluster.wanted,
  wanted_because: cluster.wantedBecause,
  user_id: cluster.user.id,
  user_name: cluster.user.name,
  workspace: cluster.workspace,
  provider: cluster.provider,
  nodes: cluster.nodes,
  offer: JSON.stringify(cluster.offer),
  addresses: JSON.stringify(cluster.addresses),
  ports: JSON.stringify(cluster.ports),
  labels: JSON.stringify(cluster.labels),
  task_yaml: cluster.taskYaml,
  command: cluster.command,
  autostop: cluster.autostop && JSON.stringify(cluster.autostop),
  problem: cluster.problem && JSON.stringify(cluster.problem),
  ever_up: cluster.everUp ? 1 : 0,
  launched_at: cluster.launchedAt,
  status_changed_at: cluster.statusChangedAt,
  hooks_version: cluster.hooksVersion,
  skip_hooks: cluster.skipHooks ? 1 : 0,
  made_for: cluster.madeFor && JSON.stringify(cluster.madeFor),
});

const toCluster = (row: Row): Cluster => ({
  id: row.id,
  name: row.name,
  status: row.status,
  wanted: row.wanted as Wanted,
  wantedBecause: row.wanted_because,
  user: { id: row.user_id, name: row.user_name },
  workspace: row.workspace,
  provider: row.provider,
  nodes: row.nodes,
  offer: JSON.parse(row.offer),
  addresses: JSON.parse(row.addresses),
  ports: JSON.parse(row.ports),
  labels: JSON.parse(row.labels),
  taskYaml: row.task_yaml,
  command: row.command,
  autostop: row.autostop === null ? null : { hook: null, ...JSON.parse(row.autostop) },
  problem: row.problem === null ? null : JSON.parse(row.problem),
  everUp: row.ever_up === 1,
  launchedAt: row.launched_at,
  statusChangedAt: row.status_changed_at,
  hooksVersion: row.hooks_version,
  skipHooks: row.skip_hooks === 1,
  madeFor: row.made_for === null ? null : JSON.parse(row.made_for),
});
