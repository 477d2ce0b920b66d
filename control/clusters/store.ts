import { fail } from "../../common/errors.ts";
import { gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { completed, flag, json, named, rowsOf, user } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Machine } from "../providers/provider.ts";
import type { Failure } from "../requests/schema.ts";
import type { StoredHooks } from "./hooks/store.ts";
import type { AutostopSetting, Cluster, Placement } from "./schema.ts";

/** What every reader needs; the hooks may be large, and few do. */
export const clusters = rowsOf<Cluster>()(
  "clusters",
  [
    ...(["id", "name", "status", "workspace", "provider", "nodes", "taskYaml", "command"] as const),
    ...(["wantedBecause", "hooksVersion", "launchedAt", "statusChangedAt"] as const),
  ],
  {
    ...{ wanted: named("wanted"), user, everUp: flag, skipHooks: flag },
    ...{ offer: json, addresses: json, ports: json, labels: json, placement: json },
    ...{ problem: json, madeFor: json, machine: completed(json, (machine) => machine ?? {}) },
    // What older versions wrote has no hook.
    autostop: completed(json, (autostop) => autostop && { hook: null, ...autostop }),
  },
);

/** Writes a new cluster; false when a live one has the name. */
export const addCluster = (
  db: Connection,
  cluster: Cluster,
  hooks?: StoredHooks,
): Promise<boolean> =>
  clusters.add(db, cluster, {
    wanted_by: cluster.madeFor === null ? cluster.user.name : null,
    ...(hooks && { hooks: hooks.sealed, hooks_version: hooks.version }),
  });

/** The cluster with this id, also one that is gone. */
export const findCluster = (db: Queries, id: string): Promise<Cluster | undefined> =>
  clusters.find(db, { id });

/** As `findCluster`; throws `ClusterDoesNotExist`. */
export async function getCluster(db: Queries, id: string): Promise<Cluster> {
  return (await findCluster(db, id)) ?? fail("ClusterDoesNotExist", `there is no cluster ${id}`);
}

/** The live cluster of this name. */
export async function findLive(db: Queries, name: string): Promise<Cluster | undefined> {
  const row = await db
    .selectFrom("clusters")
    .select(clusters.columns)
    .where("name", "=", name)
    .where("status", "<>", gone)
    .executeTakeFirst();
  return row && clusters.toItem(row);
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
    .select(clusters.columns)
    .where("name", "=", name)
    .orderBy("launched_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && clusters.toItem(row);
}

/** What forgets why an earlier attempt failed, as there is a new wish, and sets whether its hooks are skipped. */
export const freshWith = (skipHooks: boolean) => clusters.toColumns({ problem: null, skipHooks });

/** Keeps why what was wanted could not be reached; does nothing once something else is wanted. */
export const setProblem = (
  db: Connection,
  { id, wanted }: Pick<Cluster, "id" | "wanted">,
  problem: Failure | null,
): Promise<void> => clusters.change(db, { id, wanted }, { problem });

/** What says that a cluster is up, and where its nodes are reached, as columns of its row. */
export const upWith = (addresses: string[]) =>
  clusters.toColumns({ everUp: true, placement: null, addresses });

/** Keeps what is left to try for a cluster. The caller must hold the row. */
export const setPlacement = (db: Connection, id: string, placement: Placement): Promise<void> =>
  clusters.change(db, { id, everUp: false }, { placement });

/** Gives a cluster that was never up another offer, with what depends on it. The caller must hold the row. */
export const setOffer = (
  db: Connection,
  id: string,
  placed: Pick<Cluster, "offer" | "ports" | "labels" | "machine"> & { placement: Placement },
): Promise<void> =>
  clusters.change(db, { id, everUp: false }, { provider: placed.offer.provider, ...placed });

/** What a launch on a cluster that exists changes. */
type Relaunch = Pick<Cluster, "taskYaml" | "command" | "ports" | "autostop" | "launchedAt">;

/** Writes down the latest launch of a cluster. */
export const setRelaunched = (db: Connection, id: string, launch: Relaunch): Promise<void> =>
  clusters.change(db, { id }, launch);

/** Writes down how long the hooks of nodes that are made from now on may take. Within a transaction. */
export async function setGrace(
  tx: Connection,
  id: string,
  grace: Pick<Machine, "graceSeconds">,
): Promise<void> {
  const { graceSeconds: _, ...machine } = (await getCluster(tx, id)).machine;
  await clusters.change(tx, { id }, { machine: { ...machine, ...grace } });
}

export const setAutostop = (
  db: Connection,
  id: string,
  autostop: AutostopSetting | null,
): Promise<void> => clusters.change(db, { id }, { autostop });

export const setCommand = (db: Connection, id: string, command: string): Promise<void> =>
  clusters.change(db, { id }, { command });
