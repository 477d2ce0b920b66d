import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { hintOf, listedBy } from "../../contract/spelling.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import { listLiveNames } from "./list-store.ts";
import type { Cluster } from "./schema.ts";
import { findCluster, findLatest, findLive } from "./store.ts";

/** Among so many names a close one is looked for. */
const mostNames = 1_000;

/** The live cluster of this name; throws `ClusterDoesNotExist`. */
export async function getLive(ctx: Ground, name: string): Promise<Cluster> {
  const cluster = await findLive(ctx.db, name);
  return (
    cluster ?? fail("ClusterDoesNotExist", `there is no cluster ${name}; ${listedBy("status")}`)
  );
}

/** Throws what a caller is answered who asks for a cluster that is not there, or hidden. */
export async function noSuchCluster(ctx: Ground, name: string, reader: Reader): Promise<never> {
  const hint = await hintOfName(ctx, name, listedBy("status"), reader);
  return fail("ClusterDoesNotExist", `there is no cluster ${name}; ${hint}`);
}

/** The newest cluster of a name, live or gone, or else the one of this id, if the caller may see it. */
export async function findPast(
  { db }: Ground,
  name: string,
  reader: Reader,
): Promise<Cluster | undefined> {
  const cluster = (await findLatest(db, name)) ?? (await findCluster(db, name));
  return cluster && seesWorkspace(reader, cluster.workspace) ? cluster : undefined;
}

/** What a caller is answered who asks for a cluster that there never was, or that is hidden. */
export const neverWas = async (ctx: Ground, name: string, reader: Reader): Promise<string> =>
  `there was no cluster ${name}; ${await hintOfName(ctx, name, listedBy("cost-report"), reader)}`;

type Reader = Pick<Identity, "workspaces">;

const hintOfName = async (
  { db }: Ground,
  name: string,
  wayOut: string,
  { workspaces }: Reader,
): Promise<string> => hintOf(name, await listLiveNames(db, "", mostNames, workspaces), wayOut);

/** The commands about what clusters are made for. */
const managers: Readonly<Record<string, string>> = { replica: "serve", managed_job: "jobs" };

/** Throws `ConflictError` for a cluster that no user launched: whoever made it looks after it. */
export function refuseManaged({ name, madeFor }: Cluster): void {
  if (madeFor !== null)
    fail(
      "ConflictError",
      `cluster ${name} is part of ${madeFor.what}, which manages it; ${product.word} ${managers[madeFor.noun] ?? "status"} says what can be done`,
    );
}

/** The live cluster of this name, which must be up; throws `ClusterNotUpError` as well. */
export const getUp = async (ctx: Ground, name: string): Promise<Cluster> =>
  requireUp(await getLive(ctx, name), wayOutOf);

/** As `getUp`, but also takes a cluster whose hooks run before it stops by itself. */
export const getRunning = async (ctx: Ground, name: string): Promise<Cluster> =>
  requireUp(await getLive(ctx, name), wayOutOf, ["UP", "AUTOSTOPPING"]);

/** As `getRunning`, to read what jobs left: of a stopped cluster the error says where that is. */
export const getReadable = async (ctx: Ground, name: string): Promise<Cluster> =>
  requireUp(await getLive(ctx, name), wayToRead, ["UP", "AUTOSTOPPING"]);

function requireUp(
  cluster: Cluster,
  wayOut: (cluster: Cluster) => string,
  enough: readonly ClusterStatus[] = ["UP"],
): Cluster {
  const { name, status } = cluster;
  if (enough.includes(status)) return cluster;
  const says = `cluster ${name} is ${status}, not UP; ${wayOut(cluster)}`;
  return fail("ClusterNotUpError", says, { status });
}

function wayToRead(cluster: Cluster): string {
  const { name, status, wanted, hooksVersion } = cluster;
  if (status !== "STOPPED" || wanted !== "STOPPED") return wayOutOf(cluster);
  const hooks =
    hooksVersion === null ? "" : `; the output of its hooks: ${product.word} logs --hook ${name}`;
  return `jobs and their logs are on its nodes; start it to read them: ${product.word} start ${name}${hooks}`;
}

/**
 * What can be done about a cluster that is not up, or not for long; `keep` is the command that keeps
 * an idle one up.
 */
export function wayOutOf(
  { name, status, wanted, problem }: Cluster,
  keep = `${product.word} autostop --cancel ${name}`,
): string {
  const start = `${product.word} start ${name}`;
  const again =
    wanted === "GONE"
      ? `launch it again once it is gone: ${product.word} launch -c ${name}`
      : `start it again once it is stopped: ${start}`;
  if (wanted === "UP" && problem !== null) return `its last attempt failed; try again: ${start}`;
  if (wanted === "UP") return `it is being set up: ${product.word} logs --provision ${name}`;
  if (status === wanted) return `start it first: ${start}`;
  if (status !== "AUTOSTOPPING") return again;
  return `keep it up while its hooks run: ${keep}; or ${again}`;
}
