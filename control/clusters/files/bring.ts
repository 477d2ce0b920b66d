import { isDeepStrictEqual } from "node:util";
import { AppError } from "../../../common/errors.ts";
import type { Context } from "../../context.ts";
import { lost } from "../planning.ts";
import { narrate } from "../provision-log.ts";
import { type Cluster, clusterKey } from "../schema.ts";
import { findCluster } from "../store.ts";
import { readParcel } from "./cargo.ts";
import { deliverFiles } from "./deliver.ts";
import type { KeptParcel } from "./parcels.ts";
import { listParcels } from "./store.ts";

/**
 * Brings nodes that are new what the others were brought; `lost` when the cluster came to be wanted
 * otherwise meanwhile. A node is new until it is told its place, which it needs to run anything: so
 * whoever finds it after a crash brings what it may lack.
 */
export async function bringFiles(
  ctx: Context,
  cluster: Cluster,
  ranks: readonly number[],
  signal: AbortSignal,
): Promise<typeof lost | undefined> {
  const parcels = await listParcels(ctx.db, ctx.seal, cluster.id);
  if (parcels.length === 0) return undefined;
  const over = new AbortController();
  const whileWanted = AbortSignal.any([signal, over.signal]);
  const isLeft = async () => (await findCluster(ctx.db, cluster.id))?.wanted !== "UP" || undefined;
  const watching = ctx.changes.until(clusterKey(cluster.id), isLeft, whileWanted).then(
    () => over.abort(),
    () => {},
  );
  try {
    await bringAll(ctx, cluster, ranks, parcels, whileWanted);
  } catch (error) {
    if (!over.signal.aborted) throw error;
    return lost;
  } finally {
    over.abort();
    await watching;
  }
  return undefined;
}

/** Looks again until nothing was added meanwhile: who brings more now has the last word. */
async function bringAll(
  ctx: Context,
  cluster: Cluster,
  ranks: readonly number[],
  parcels: readonly KeptParcel[],
  signal: AbortSignal,
): Promise<void> {
  for (const parcel of parcels) await bring(ctx, cluster, ranks, parcel, signal);
  const now = await listParcels(ctx.db, ctx.seal, cluster.id);
  if (!isDeepStrictEqual(now, parcels)) await bringAll(ctx, cluster, ranks, now, signal);
}

/** What never arrived anywhere holds up no repair; whoever sent it was told why. */
async function bring(
  ctx: Context,
  cluster: Cluster,
  ranks: readonly number[],
  parcel: KeptParcel,
  signal: AbortSignal,
): Promise<void> {
  const tell = (line: string) => narrate(ctx, cluster.id, line);
  try {
    const cargo = await readParcel(ctx, parcel, signal);
    await deliverFiles(ctx, cluster, [cargo], { ranks, tell }, signal);
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    const message = `${parcel.name} is not on ${namesOf(ranks)} of ${cluster.name}: ${error.message}`;
    if (parcel.hasArrived || error.type === "UnreachableError")
      throw new AppError(error.type, message, { ...error.details }, error);
    tell(message);
  }
}

const namesOf = (ranks: readonly number[]): string =>
  ranks.length === 1 ? `node ${ranks[0]}` : `nodes ${ranks.join(", ")}`;
