import type { Selectable } from "kysely";
import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import type { Volume } from "./schema.ts";

/** The volume of this name. */
export async function findVolume(db: Queries, name: string): Promise<Volume | undefined> {
  const query = db.selectFrom("volumes").selectAll().where("name", "=", name);
  const row = await query.executeTakeFirst();
  return row && toVolume(row);
}

/** As `findVolume`; throws where it is not in one of the workspaces, or cannot be attached. Null is all of them. */
export async function getReadyVolume(
  db: Queries,
  name: string,
  workspaces: readonly string[] | null,
): Promise<Volume> {
  const volume = await findVolume(db, name);
  if (volume === undefined || !(workspaces?.includes(volume.workspace) ?? true))
    return noSuchVolume(name);
  requireReady(volume);
  return volume;
}

/** The workspace of a volume. */
export const findVolumeWorkspace = async (db: Queries, name: string): Promise<string | undefined> =>
  (await findVolume(db, name))?.workspace;

/** The volumes of some workspaces, by name; null is of all. */
export async function listVolumes(
  db: Queries,
  workspaces: readonly string[] | null,
): Promise<Volume[]> {
  const query = db.selectFrom("volumes").selectAll().orderBy("name");
  const seen = workspaces === null ? query : query.where("workspace", "in", workspaces);
  return (await seen.execute()).map(toVolume);
}

/** Writes a new volume; false when there is one of that name. */
export async function addVolume(db: Connection, volume: Volume): Promise<boolean> {
  const { name, id, workspace, user, document, path, problem } = volume;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("volumes")
    .values({
      ...{ name, id, workspace, path, problem },
      ...{ user_id: user.id, user_name: user.name },
      ...{ document: JSON.stringify(document), creation_yaml: volume.yaml },
      ...{ created_at: volume.createdAt, last_attached_at: null, last_use: null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** Records where a volume lies, or why it cannot be attached. */
export async function setVolume(
  db: Connection,
  id: string,
  values: Partial<Pick<Volume, "path" | "problem">>,
): Promise<void> {
  await db.updateTable("volumes").set(values).where("id", "=", id).execute();
}

/** Forgets a volume. */
export async function deleteVolume(db: Connection, id: string): Promise<void> {
  await db.deleteFrom("volumes").where("id", "=", id).execute();
}

/** Records that a cluster uses a volume from now on. Throws where it cannot be attached by now. */
export async function useVolume(
  db: Connection,
  { id, name }: Pick<Volume, "id" | "name">,
  { clusterId, command, at }: { clusterId: string; command: string; at: number },
): Promise<void> {
  const volume = await findVolume(db, name);
  if (volume?.id !== id) return noSuchVolume(name);
  requireReady(volume);
  await db
    .insertInto("volume_uses")
    .values({ volume_id: id, cluster_id: clusterId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const values = { last_attached_at: at, ...(command !== "" && { last_use: command }) };
  await db.updateTable("volumes").set(values).where("id", "=", id).execute();
}

export const noSuchVolume = (name: string): never =>
  fail("VolumeNotFoundError", `there is no volume ${name}; ${product.word} volumes ls lists them`);

function requireReady({ name, problem }: Pick<Volume, "name" | "problem">): void {
  if (problem !== null) fail("VolumeNotReadyError", `volume ${name} is not ready: ${problem}`);
}

/** The live clusters that use volumes, by the id of the volume. */
export async function listUsers(
  db: Queries,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom("volume_uses")
    .innerJoin("clusters", "clusters.id", "volume_uses.cluster_id")
    .select(["volume_id", "clusters.name"])
    .where("volume_id", "in", ids)
    .where("clusters.status", "<>", "GONE")
    .orderBy("clusters.name")
    .execute();
  const users = Map.groupBy(rows, ({ volume_id: id }) => id);
  return new Map(ids.map((id) => [id, (users.get(id) ?? []).map(({ name }) => name)]));
}

const toVolume = (row: Selectable<Tables["volumes"]>): Volume => ({
  name: row.name,
  id: row.id,
  workspace: row.workspace,
  user: { id: row.user_id, name: row.user_name },
  document: JSON.parse(row.document),
  yaml: row.creation_yaml,
  path: row.path,
  problem: row.problem,
  createdAt: row.created_at,
  lastAttachedAt: row.last_attached_at,
  lastUse: row.last_use,
});
