import type { Selectable } from "kysely";
import { fail } from "../../common/errors.ts";
import { gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { flag, json, named, rowsOf, user } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import type { Failure } from "../requests/schema.ts";
import type { Cluster, ListedCluster, Placement } from "./schema.ts";

/** What every reader needs, but the task; the hooks may be large, and few do. */
const listed = rowsOf<Omit<Cluster, "taskYaml" | "placement">>()(
  "clusters",
  [
    ...(["id", "name", "status", "workspace", "provider", "nodes", "command"] as const),
    ...(["wantedBecause", "hooksVersion", "launchedAt", "statusChangedAt"] as const),
  ],
  {
    ...{ wanted: named("wanted"), user, everUp: flag, skipHooks: flag },
    ...{ offer: json, addresses: json, ports: json, labels: json },
    ...{ autostop: json, problem: json, madeFor: json, machine: json },
  },
);
export const clusterColumns = [...listed.columns, "task_yaml", "placement"] as const;

/** Writes a new cluster; false when a live one has the name. */
export async function addCluster(db: Connection, cluster: Cluster): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("clusters")
    .values({ ...toRow(cluster), wanted_by: cluster.madeFor === null ? cluster.user.name : null })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** The cluster with this id, also one that is gone. */
export async function findCluster(db: Queries, id: string): Promise<Cluster | undefined> {
  const [row] = await selectCluster(db, { id });
  return row && toCluster(row);
}

const selectCluster = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("clusters").select(clusterColumns).where("id", "=", id),
);

/** As `findCluster`; throws `ClusterDoesNotExist`. */
export async function getCluster(db: Queries, id: string): Promise<Cluster> {
  return (await findCluster(db, id)) ?? fail("ClusterDoesNotExist", `there is no cluster ${id}`);
}

/** The live cluster of this name. */
export async function findLive(db: Queries, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(clusterColumns)
    .where("name", "=", name)
    .where("status", "<>", gone)
    .executeTakeFirst();
  return row && toCluster(row);
}

/** The workspace of the live cluster of this name. */
export const findLiveWorkspace = async (db: Queries, name: string): Promise<string | undefined> =>
  (await selectWorkspace(db, { name }))[0]?.workspace;

const selectWorkspace = statement((db: Queries, { name }: { readonly name: string }) =>
  db
    .selectFrom("clusters")
    .select("workspace")
    .where("name", "=", name)
    .where("status", "<>", gone),
);

/** The newest cluster of this name, also one that is gone. */
export async function findLatest(db: Queries, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(clusterColumns)
    .where("name", "=", name)
    .orderBy("launched_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && toCluster(row);
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
    .set({ ever_up: 1, placement: null, addresses: JSON.stringify(addresses) })
    .where("id", "=", id)
    .execute();
}

/** Keeps what is left to try for a cluster. The caller must hold the row. */
export async function setPlacement(db: Connection, id: string, placement: Placement) {
  await db
    .updateTable("clusters")
    .set({ placement: JSON.stringify(placement) })
    .where("id", "=", id)
    .where("ever_up", "=", 0)
    .execute();
}

/** Gives a cluster that was never up another offer, with what depends on it. The caller must hold the row. */
export async function setOffer(
  db: Connection,
  id: string,
  placed: Pick<Cluster, "offer" | "ports" | "labels" | "machine"> & { placement: Placement },
): Promise<void> {
  const { offer, ports, labels, machine, placement } = placed;
  await db
    .updateTable("clusters")
    .set({
      provider: offer.provider,
      offer: JSON.stringify(offer),
      ports: JSON.stringify(ports),
      labels: JSON.stringify(labels),
      machine: JSON.stringify(machine),
      placement: JSON.stringify(placement),
    })
    .where("id", "=", id)
    .where("ever_up", "=", 0)
    .execute();
}

export type ClusterRow = Pick<Selectable<Tables["clusters"]>, (typeof clusterColumns)[number]>;

const toRow = ({ taskYaml, placement, ...cluster }: Cluster) => ({
  ...listed.toRow(cluster),
  task_yaml: taskYaml,
  placement: placement && JSON.stringify(placement),
});

const toCluster = (row: ClusterRow): Cluster => ({
  ...toListed(row),
  taskYaml: row.task_yaml,
  placement: row.placement === null ? null : JSON.parse(row.placement),
});

/** A row as others see it, without its task and its placement. */
export const toListed = (
  row: Omit<ClusterRow, "task_yaml" | "placement">,
): Omit<ListedCluster, "taskYaml"> => {
  const { autostop, machine, ...cluster } = listed.toItem(row);
  return { ...cluster, machine: machine ?? {}, autostop: autostop && { ...older, ...autostop } };
};

/** What the autostop of older versions lacks. */
const older = { hook: null };
