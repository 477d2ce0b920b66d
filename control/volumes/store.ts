import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import type { Connection, Queries } from "../db/open.ts";
import { json, named, rowsOf, user } from "../db/rows.ts";
import type { Volume } from "./schema.ts";

const volumes = rowsOf<Volume>()(
  "volumes",
  ["name", "id", "workspace", "path", "problem", "createdAt", "lastAttachedAt", "lastUse"],
  { user, document: json, yaml: named("creation_yaml") },
);

/** The volume of this name. */
export const findVolume = (db: Queries, name: string): Promise<Volume | undefined> =>
  volumes.find(db, { name });

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
  return (await seen.execute()).map(volumes.toItem);
}

/** Writes a new volume; false when there is one of that name. */
export const addVolume = (db: Connection, volume: Volume): Promise<boolean> =>
  volumes.add(db, volume);

/** A volume as it was when it was looked at. */
type Seen = Pick<Volume, "id" | "problem"> & Partial<Pick<Volume, "path">>;

/** Records where a volume lies, or why it cannot be attached; false where it has another problem by now. */
export async function setVolume(
  db: Connection,
  { id, problem }: Seen,
  values: Partial<Pick<Volume, "path" | "problem">>,
): Promise<boolean> {
  if ((await volumes.find(db, { id, problem })) === undefined) return false;
  await volumes.change(db, { id }, values);
  return true;
}

/** Forgets a volume that is as it was seen. */
export const deleteVolume = (db: Connection, seen: Seen): Promise<void> => volumes.drop(db, seen);

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
  const use = { lastAttachedAt: at, ...(command !== "" && { lastUse: command }) };
  await volumes.change(db, { id }, use);
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
