import type { Ground } from "../../ground.ts";
import { tieToCluster } from "../../storage/store.ts";
import { useVolume } from "../../volumes/store.ts";
import type { KeptParcel, Parcel } from "./parcels.ts";
import { listParcels, setParcels } from "./store.ts";

/** Writes down that parcels are on their way to all nodes of a cluster, or that they have arrived. */
export async function keepParcels(
  ctx: Ground,
  clusterId: string,
  parcels: readonly Parcel[],
  hasArrived: boolean,
): Promise<void> {
  if (parcels.length === 0) return;
  await ctx.batch(async (tx) => {
    const before = await listParcels(tx, ctx.seal, clusterId);
    await setParcels(tx, ctx.seal, clusterId, withParcels(before, parcels, hasArrived));
    const passing = parcels.flatMap((one) => one.passing ?? []);
    await tieToCluster(tx, passing, clusterId);
    const at = ctx.now().getTime();
    for (const one of parcels)
      if ("volume" in one && !hasArrived)
        await useVolume(tx, one.volume, { clusterId, command: one.command, at });
  });
}

/**
 * What a cluster remembers then: the latest parcel for each destination, in the order in which they
 * came. What had arrived before stays until another one has: who fails to bring his takes nothing away.
 */
export function withParcels(
  before: readonly KeptParcel[],
  parcels: readonly Parcel[],
  hasArrived: boolean,
): KeptParcel[] {
  const destinations = new Set(parcels.map(({ destination }) => destination));
  const stays = (kept: KeptParcel) =>
    !destinations.has(kept.destination) || (kept.hasArrived && !hasArrived);
  return [...before.filter(stays), ...parcels.map((parcel) => ({ ...parcel, hasArrived }))];
}
