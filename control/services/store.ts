import type { Selectable } from "kysely";
import { fail } from "../../common/errors.ts";
import type { Seal } from "../../common/seal.ts";
import { gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import type { Failure } from "../requests/schema.ts";
import type { Scaling, Service, Version, VersionTask } from "./schema.ts";

/** Writes a new service; false when a live one has the name. */
export async function addService(db: Connection, service: Service): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("services")
    .values(toServiceRow(service))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** The service with this id, also one that is gone. */
export async function findService(db: Queries, id: string): Promise<Service | undefined> {
  const [row] = await selectService(db, { id });
  return row && toService(row);
}

const selectService = statement((db: Queries, { id }: { readonly id: string }) =>
  db.selectFrom("services").selectAll().where("id", "=", id),
);

/** As `findService`; throws `NotFoundError`. */
export const getService = async (db: Queries, id: string): Promise<Service> =>
  (await findService(db, id)) ?? fail("NotFoundError", `there is no service ${id}`);

/** The live service of this name. */
export async function findLiveService(db: Queries, name: string): Promise<Service | undefined> {
  const row = await db
    .selectFrom("services")
    .selectAll()
    .where("name", "=", name)
    .where("status", "<>", gone)
    .executeTakeFirst();
  return row && toService(row);
}

/** The workspace of the live service of this name. */
export const findServiceWorkspace = async (
  db: Queries,
  name: string,
): Promise<string | undefined> => (await selectWorkspace(db, { name }))[0]?.workspace;

const selectWorkspace = statement((db: Queries, { name }: { readonly name: string }) =>
  db
    .selectFrom("services")
    .select("workspace")
    .where("name", "=", name)
    .where("status", "<>", gone),
);

/** Every live service, the newest first. */
export async function listLiveServices(db: Queries): Promise<Service[]> {
  const rows = await db
    .selectFrom("services")
    .selectAll()
    .where("status", "<>", gone)
    .orderBy("created_at", "desc")
    .execute();
  return rows.map(toService);
}

/** Ids of the live services. */
export async function listServiceIds(db: Queries): Promise<string[]> {
  return (await selectIds(db, {})).map(({ id }) => id);
}

const selectIds = statement((db: Queries) =>
  db.selectFrom("services").select("id").where("status", "<>", gone),
);

/** Services that are gone since before an instant. */
export async function listGoneServices(db: Queries, before: number): Promise<string[]> {
  const rows = await db
    .selectFrom("services")
    .select("id")
    .where("status", "=", gone)
    .where("status_changed_at", "<", before)
    .execute();
  return rows.map(({ id }) => id);
}

/** Forgets a service, its versions and its replicas, and what happened to them. */
export async function dropService(db: Connection, id: string): Promise<void> {
  const replicas = db.selectFrom("replicas").select("id").where("service_id", "=", id);
  await db
    .deleteFrom("events")
    .where("noun", "=", "replica")
    .where("subject_id", "in", replicas)
    .execute();
  await db
    .deleteFrom("events")
    .where("noun", "=", "service")
    .where("subject_id", "=", id)
    .execute();
  await db.deleteFrom("services").where("id", "=", id).execute();
}

/** Changes of a service that are no move of its status. */
export type ServiceChange = Partial<
  Pick<Service, "reason" | "version" | "port" | "readyAt"> & {
    scaling: Scaling;
    problem: Failure | null;
  }
>;

/** Writes what changed of a service. */
export async function setService(db: Connection, id: string, change: ServiceChange): Promise<void> {
  const { reason, version, port, readyAt, scaling, problem } = change;
  await db
    .updateTable("services")
    .set({
      ...(reason !== undefined && { reason }),
      ...(version !== undefined && { version }),
      ...(port !== undefined && { port }),
      ...(readyAt !== undefined && { ready_at: readyAt }),
      ...(scaling !== undefined && { scaling: JSON.stringify(scaling) }),
      ...(problem !== undefined && { problem: problem && JSON.stringify(problem) }),
    })
    .where("id", "=", id)
    .execute();
}

/** Writes a new version, its task sealed. */
export async function addVersion(
  db: Connection,
  seal: Seal,
  version: Version,
  task: VersionTask,
): Promise<void> {
  await db
    .insertInto("service_versions")
    .values({
      service_id: version.serviceId,
      version: version.version,
      task: seal.seal(JSON.stringify(task)),
      command: version.command,
      mode: version.mode,
      because: version.because,
      created_at: version.createdAt,
      ready_at: version.readyAt,
      given_up: version.givenUp,
    })
    .execute();
}

const versionColumns = [
  ...["service_id", "version", "command", "mode", "because", "created_at", "ready_at", "given_up"],
] as const;

/** The versions of a service, oldest first. */
export async function listVersions(db: Queries, serviceId: string): Promise<Version[]> {
  return (await selectVersions(db, { serviceId })).map((row) => ({
    serviceId: row.service_id,
    version: row.version,
    command: row.command,
    mode: row.mode,
    because: row.because,
    createdAt: row.created_at,
    readyAt: row.ready_at,
    givenUp: row.given_up,
  }));
}

const selectVersions = statement((db: Queries, { serviceId }: { readonly serviceId: string }) =>
  db
    .selectFrom("service_versions")
    .select(versionColumns)
    .where("service_id", "=", serviceId)
    .orderBy("version"),
);

/** The task of a version, secrets included; throws `NotFoundError`. */
export async function readVersionTask(
  db: Queries,
  seal: Seal,
  { serviceId, version }: Pick<Version, "serviceId" | "version">,
): Promise<VersionTask> {
  const row = await db
    .selectFrom("service_versions")
    .select("task")
    .where("service_id", "=", serviceId)
    .where("version", "=", version)
    .executeTakeFirst();
  if (row === undefined) return fail("NotFoundError", `service ${serviceId} has no v${version}`);
  return JSON.parse(seal.open(row.task));
}

/** The uploads that versions of live services need: their next replica is brought up with them. */
export async function listServiceBlobs(db: Queries, seal: Seal): Promise<string[]> {
  const blobIds: string[] = [];
  for (const id of await listServiceIds(db)) {
    const query = db.selectFrom("service_versions").select("task").where("service_id", "=", id);
    const tasks = (await query.execute()).map(
      ({ task }): VersionTask => JSON.parse(seal.open(task)),
    );
    blobIds.push(...tasks.flatMap(({ blobId }) => blobId ?? []));
  }
  return blobIds;
}

/** Marks that a version was ready first, or was given up. */
export async function setVersion(
  db: Connection,
  { serviceId, version }: Pick<Version, "serviceId" | "version">,
  { readyAt, givenUp }: Partial<Pick<Version, "readyAt" | "givenUp">>,
): Promise<void> {
  await db
    .updateTable("service_versions")
    .set({
      ...(readyAt !== undefined && { ready_at: readyAt }),
      ...(givenUp !== undefined && { given_up: givenUp }),
    })
    .where("service_id", "=", serviceId)
    .where("version", "=", version)
    .execute();
}

type Row = Selectable<Tables["services"]>;

const toServiceRow = (service: Service): Row => ({
  id: service.id,
  name: service.name,
  pool: service.isPool ? 1 : 0,
  status: service.status,
  reason: service.reason,
  wanted: service.wanted,
  wanted_because: service.wantedBecause,
  wanted_by: service.user.name,
  user_id: service.user.id,
  user_name: service.user.name,
  workspace: service.workspace,
  host: service.host,
  port: service.port,
  version: service.version,
  scaling: JSON.stringify(service.scaling),
  problem: service.problem && JSON.stringify(service.problem),
  ready_at: service.readyAt,
  created_at: service.createdAt,
  status_changed_at: service.statusChangedAt,
});

const toService = (row: Row): Service => ({
  id: row.id,
  name: row.name,
  isPool: row.pool === 1,
  status: row.status,
  reason: row.reason,
  wanted: row.wanted,
  wantedBecause: row.wanted_because,
  user: { id: row.user_id, name: row.user_name },
  workspace: row.workspace,
  host: row.host,
  port: row.port,
  version: row.version,
  scaling: JSON.parse(row.scaling),
  problem: row.problem === null ? null : JSON.parse(row.problem),
  readyAt: row.ready_at,
  createdAt: row.created_at,
  statusChangedAt: row.status_changed_at,
});
