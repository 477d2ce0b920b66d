import type { Selectable } from "kysely";
import { fail } from "../../common/errors.ts";
import type { Connection } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import type { Failure } from "../requests/schema.ts";
import type { AutostopSetting, Cluster, Wanted } from "./schema.ts";

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
  const row = await db.selectFrom("clusters").selectAll().where("id", "=", id).executeTakeFirst();
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
    .selectAll()
    .where("name", "=", name)
    .where("status", "<>", "GONE")
    .executeTakeFirst();
  return row && toCluster(row);
}

/** The newest cluster of this name, also one that is gone. */
export async function findLatest(db: Connection, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .selectAll()
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
    .selectAll()
    .where("status", "<>", "GONE")
    .orderBy("launched_at", "desc")
    .execute();
  return rows.map(toCluster);
}

/** Live clusters, and those that left since an instant, newest launch first. */
export async function listSince(db: Connection, since: number): Promise<Cluster[]> {
  const rows = await db
    .selectFrom("clusters")
    .selectAll()
    .where((where) =>
      where.or([where("status", "<>", "GONE"), where("status_changed_at", ">=", since)]),
    )
    .orderBy("launched_at", "desc")
    .execute();
  return rows.map(toCluster);
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

/**
 * Writes what a cluster should be, and forgets why an earlier attempt failed. One that is gone stays
 * so: nothing is wanted of it any more.
 */
export async function setWanted(db: Connection, id: string, wanted: Wanted, because: string) {
  await db
    .updateTable("clusters")
    .set({ wanted, wanted_because: because, problem: null })
    .where("id", "=", id)
    .where("status", "<>", "GONE")
    .execute();
}

/** What a launch on a cluster that exists changes. */
export interface Relaunch {
  taskYaml: string;
  command: string;
  ports: string[];
  autostop: AutostopSetting | null;
  launchedAt: number;
}

/** Writes down the latest launch of a cluster. */
export async function setRelaunched(db: Connection, id: string, launch: Relaunch) {
  await db
    .updateTable("clusters")
    .set({
      task_yaml: launch.taskYaml,
      command: launch.command,
      ports: JSON.stringify(launch.ports),
      autostop: launch.autostop && JSON.stringify(launch.autostop),
      launched_at: launch.launchedAt,
    })
    .where("id", "=", id)
    .execute();
}

export async function setAutostop(db: Connection, id: string, autostop: AutostopSetting | null) {
  const text = autostop && JSON.stringify(autostop);
  await db.updateTable("clusters").set({ autostop: text }).where("id", "=", id).execute();
}

export async function setCommand(db: Connection, id: string, command: string) {
  await db.updateTable("clusters").set({ command }).where("id", "=", id).execute();
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

/** Marks that the nodes of a cluster run from now on. */
export async function beginUsage(db: Connection, id: string, at: number): Promise<void> {
  const open = await db
    .selectFrom("usage_intervals")
    .select("started_at")
    .where("cluster_id", "=", id)
    .where("ended_at", "is", null)
    .executeTakeFirst();
  if (open !== undefined) return;
  await db.insertInto("usage_intervals").values({ cluster_id: id, started_at: at }).execute();
}

/** Marks that no node of a cluster runs any more. */
export async function endUsage(db: Connection, id: string, at: number): Promise<void> {
  await db
    .updateTable("usage_intervals")
    .set({ ended_at: at })
    .where("cluster_id", "=", id)
    .where("ended_at", "is", null)
    .execute();
}

/** When the nodes of clusters ran: pairs of start and end, oldest first. */
export async function listUsage(
  db: Connection,
): Promise<Map<string, [start: number, end: number | null][]>> {
  const rows = await db.selectFrom("usage_intervals").selectAll().orderBy("started_at").execute();
  const byCluster = new Map<string, [number, number | null][]>();
  for (const { cluster_id: id, started_at: start, ended_at: end } of rows) {
    const intervals = byCluster.get(id) ?? [];
    byCluster.set(id, intervals);
    intervals.push([start, end]);
  }
  return byCluster;
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

type Row = Selectable<Tables["clusters"]>;

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
  autostop: row.autostop === null ? null : JSON.parse(row.autostop),
  problem: row.problem === null ? null : JSON.parse(row.problem),
  everUp: row.ever_up === 1,
  launchedAt: row.launched_at,
  statusChangedAt: row.status_changed_at,
});
