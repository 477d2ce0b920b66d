import { fail } from "../../common/errors.ts";
import type { Seal } from "../../common/seal.ts";
import { gone } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { flag, json, named, rowsOf, user } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Service, Version, VersionTask } from "./schema.ts";

const services = rowsOf<Service>()(
  "services",
  [
    ...(["id", "name", "status", "reason", "wanted", "wantedBecause", "workspace"] as const),
    ...(["host", "port", "version", "readyAt", "createdAt", "statusChangedAt"] as const),
  ],
  { isPool: named("pool", flag), user, scaling: json, problem: json },
);
const versions = rowsOf<Version>()(
  "service_versions",
  ["serviceId", "version", "command", "mode", "because", "createdAt", "readyAt", "givenUp"],
  {},
);

/** Writes a new service; false when a live one has the name. */
export const addService = (db: Connection, service: Service): Promise<boolean> =>
  services.add(db, service, { wanted_by: service.user.name });

/** The service with this id, also one that is gone. */
export const findService = (db: Queries, id: string): Promise<Service | undefined> =>
  services.find(db, { id });

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
  return row && services.toItem(row);
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
  return rows.map(services.toItem);
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

/** Changes of a service that are no move of its status, and no wish. */
type ServiceChange = Partial<Omit<Service, "id" | "status" | "wanted" | "wantedBecause">>;

/** Writes what changed of a service. */
export const setService = (db: Connection, id: string, change: ServiceChange): Promise<void> =>
  services.change(db, { id }, change);

/** Writes a new version, its task sealed. */
export async function addVersion(
  db: Connection,
  seal: Seal,
  version: Version,
  task: VersionTask,
): Promise<void> {
  await db
    .insertInto("service_versions")
    .values({ ...versions.toRow(version), task: seal.seal(JSON.stringify(task)) })
    .execute();
}

/** The versions of a service, oldest first. */
export async function listVersions(db: Queries, serviceId: string): Promise<Version[]> {
  return (await selectVersions(db, { serviceId })).map(versions.toItem);
}

const selectVersions = statement((db: Queries, { serviceId }: { readonly serviceId: string }) =>
  db
    .selectFrom("service_versions")
    .select(versions.columns)
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
export const setVersion = (
  db: Connection,
  { serviceId, version }: Pick<Version, "serviceId" | "version">,
  change: Partial<Pick<Version, "readyAt" | "givenUp">>,
): Promise<void> => versions.change(db, { serviceId, version }, change);
