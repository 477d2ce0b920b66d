import type { Selectable } from "kysely";
import { gone } from "../../db/lists.ts";
import type { Connection, Queries } from "../../db/open.ts";
import { statement } from "../../db/statement.ts";
import type { Tables } from "../../db/tables.ts";
import type { Replica } from "../schema.ts";

/** Writes a new replica. */
export async function addReplica(db: Connection, replica: Replica): Promise<void> {
  await db.insertInto("replicas").values(toRow(replica)).execute();
}

/** The replica with this id. */
export async function findReplica(db: Queries, id: string): Promise<Replica | undefined> {
  const [row] = await selectReplica(db, { id });
  return row && toReplica(row);
}

const selectReplica = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("replicas").selectAll().where("id", "=", id),
);

/** The replica of a service with this number, also one that is gone. */
export async function findNumber(
  db: Queries,
  serviceId: string,
  number: number,
): Promise<Replica | undefined> {
  const row = await db
    .selectFrom("replicas")
    .selectAll()
    .where("service_id", "=", serviceId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row && toReplica(row);
}

/** The replicas of a service that the wire shows, by number: also failed ones that are kept. */
export async function listReplicas(db: Queries, serviceId: string): Promise<Replica[]> {
  return (await selectOfService(db, { serviceId })).map(toReplica);
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
  return rows.map(toReplica);
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

/** What may change of a replica beside its status. */
export type ReplicaChange = Partial<
  Pick<
    Replica,
    | ("reason" | "clusterId" | "jobId" | "host" | "port")
    | (
        | "accelerators"
        | "isUnplaced"
        | "serverPort"
        | "listenPort"
        | "runAt"
        | "readyAt"
        | "drainUntil"
        | "endedAt"
      )
  >
>;

/** Writes what changed of a replica. */
export async function setReplica(db: Connection, id: string, change: ReplicaChange): Promise<void> {
  const entries = Object.entries(change).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return;
  const set = Object.fromEntries(entries.map(([name, value]) => [columnOf(name), toColumn(value)]));
  await db.updateTable("replicas").set(set).where("id", "=", id).execute();
}

/** `clusterId` is `cluster_id`. */
const columnOf = (name: string): string =>
  name === "isUnplaced"
    ? "unplaced"
    : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function toColumn(value: unknown): unknown {
  if (typeof value === "boolean") return value ? 1 : 0;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

type Row = Selectable<Tables["replicas"]>;

const toRow = (replica: Replica): Row => ({
  id: replica.id,
  service_id: replica.serviceId,
  number: replica.number,
  version: replica.version,
  status: replica.status,
  reason: replica.reason,
  wanted: replica.wanted,
  wanted_because: replica.wantedBecause,
  wanted_by: null,
  is_spot: replica.isSpot ? 1 : 0,
  accelerators: replica.accelerators && JSON.stringify(replica.accelerators),
  cluster_id: replica.clusterId,
  cluster_name: replica.clusterName,
  unplaced: replica.isUnplaced ? 1 : 0,
  job_id: replica.jobId,
  host: replica.host,
  port: replica.port,
  server_port: replica.serverPort,
  listen_port: replica.listenPort,
  run_at: replica.runAt,
  ready_at: replica.readyAt,
  drain_until: replica.drainUntil,
  created_at: replica.createdAt,
  status_changed_at: replica.statusChangedAt,
  ended_at: replica.endedAt,
});

const toReplica = (row: Row): Replica => ({
  id: row.id,
  serviceId: row.service_id,
  number: row.number,
  version: row.version,
  status: row.status,
  reason: row.reason,
  wanted: row.wanted,
  wantedBecause: row.wanted_because,
  isSpot: row.is_spot === 1,
  accelerators: row.accelerators === null ? null : JSON.parse(row.accelerators),
  clusterId: row.cluster_id,
  clusterName: row.cluster_name,
  isUnplaced: row.unplaced === 1,
  jobId: row.job_id,
  host: row.host,
  port: row.port,
  serverPort: row.server_port,
  listenPort: row.listen_port,
  runAt: row.run_at,
  readyAt: row.ready_at,
  drainUntil: row.drain_until,
  createdAt: row.created_at,
  statusChangedAt: row.status_changed_at,
  endedAt: row.ended_at,
});
