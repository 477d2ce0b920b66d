import { gone } from "../../db/lists.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { flag, json, named, rowsOf } from "../../db/rows.ts";
import { statement } from "../../db/statement.ts";
import type { Replica } from "../schema.ts";

const replicas = rowsOf<Replica>()(
  "replicas",
  [
    ...(["id", "serviceId", "number", "version", "status", "reason", "wanted"] as const),
    ...(["wantedBecause", "clusterId", "clusterName", "jobId", "host", "port"] as const),
    ...(["serverPort", "listenPort", "runAt", "readyAt", "drainUntil"] as const),
    ...(["createdAt", "statusChangedAt", "endedAt"] as const),
  ],
  { isSpot: flag, isUnplaced: named("unplaced", flag), accelerators: json },
);

/** Writes a new replica. */
export async function addReplica(db: Connection, replica: Replica): Promise<void> {
  await db.insertInto("replicas").values(replicas.toRow(replica)).execute();
}

/** The replica with this id. */
export const findReplica = (db: Queries, id: string): Promise<Replica | undefined> =>
  replicas.find(db, { id });

/** The replica of a service with this number, also one that is gone. */
export const findNumber = (
  db: Queries,
  serviceId: string,
  number: number,
): Promise<Replica | undefined> => replicas.find(db, { serviceId, number });

/** The replicas of a service that the wire shows, by number: also failed ones that are kept. */
export async function listReplicas(db: Queries, serviceId: string): Promise<Replica[]> {
  return (await selectOfService(db, { serviceId })).map(replicas.toItem);
}

const selectOfService = statement((db: Queries, { serviceId }: { readonly serviceId: string }) =>
  db
    .selectFrom("replicas")
    .selectAll()
    .where("service_id", "=", serviceId)
    .where("status", "<>", gone)
    .orderBy("number"),
);

/** Every replica that is not gone, of every service. */
export async function listAllReplicas(db: Queries): Promise<Replica[]> {
  const rows = await db
    .selectFrom("replicas")
    .selectAll()
    .where("status", "<>", gone)
    .orderBy("number")
    .execute();
  return rows.map(replicas.toItem);
}

/** Ids of the replicas that are not gone, of every service. */
export async function listReplicaIds(db: Queries): Promise<string[]> {
  return (await selectIds(db, {})).map(({ id }) => id);
}

const selectIds = statement((db: Queries) =>
  db.selectFrom("replicas").select("id").where("status", "<>", gone),
);

/** Has the replicas of a version that are to stay be of another one. */
export async function setVersionOfLive(
  db: Connection,
  serviceId: string,
  from: number,
  to: number,
): Promise<void> {
  await db
    .updateTable("replicas")
    .set({ version: to })
    .where("service_id", "=", serviceId)
    .where("version", "=", from)
    .where("wanted", "=", "UP")
    .where("ended_at", "is", null)
    .execute();
}

/** The number for the next replica of a service. */
export async function nextNumber(db: Queries, serviceId: string): Promise<number> {
  const row = await db
    .selectFrom("replicas")
    .select(({ fn }) => fn.max("number").as("last"))
    .where("service_id", "=", serviceId)
    .executeTakeFirst();
  return (row?.last ?? 0) + 1;
}

/** What may change of a replica beside its status and what is wanted of it. */
type ReplicaChange = Partial<Omit<Replica, "id" | "status" | "wanted" | "wantedBecause">>;

/** Writes what changed of a replica. */
export const setReplica = (db: Connection, id: string, change: ReplicaChange): Promise<void> =>
  replicas.change(db, { id }, change);
