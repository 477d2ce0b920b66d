import { isDeepStrictEqual } from "node:util";
import { isSameOffer, untilOf } from "../clouds/schema.ts";
import { addRefusal } from "../clouds/store.ts";
import type { Context } from "../context.ts";
import { addEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { describeOffer } from "../offer-words.ts";
import { listOffers, refuseRefused } from "../offers.ts";
import type { Offer, RefusalKind } from "../providers/provider.ts";
import { hold } from "../want.ts";
import { admitCluster } from "../workspaces/admit.ts";
import { movedHooks } from "./hooks/kept.ts";
import { setHooks } from "./hooks/store.ts";
import { placed } from "./new-cluster.ts";
import { narrate } from "./provision-log.ts";
import type { Cluster, Placement } from "./schema.ts";
import { getCluster, setOffer, setPlacement } from "./store.ts";

/** How a launch goes on at another offer when a provider refuses the one that was chosen. */

/**
 * Writes down that the offer of a cluster was refused: for this cluster, and for others for as long as
 * that kind of refusal lasts. False, and nothing is written, for a cluster that was up before: its disks are
 * at that offer.
 */
export async function noteRefusal(
  ctx: Ground,
  cluster: Cluster,
  { kind, reason }: { kind?: RefusalKind; reason: string },
): Promise<boolean> {
  const { id, offer, nodes } = cluster;
  if (cluster.placement === null) return false;
  const at = ctx.now().getTime();
  await ctx.batch(async (tx) => {
    if (kind !== undefined)
      await addRefusal(tx, { offer, nodes, kind, reason, at, until: untilOf(kind, at) });
    if (!(await hold(tx, "cluster", cluster))) return;
    const { placement } = await getCluster(tx, id);
    // Several nodes may be refused in one pass.
    if (placement === null || placement.isRefused) return;
    const others = placement.tried.filter((one) => !isSameOffer(one.offer, offer));
    const tried = [...others, { offer, why: reason }];
    await setPlacement(tx, id, { ...placement, isRefused: true, tried });
  });
  return true;
}

/**
 * Gives a cluster whose offer was refused, and of which nothing is left there, the next offer. Throws
 * `ResourcesUnavailableError` when every offer was refused; the next attempt begins the list anew.
 */
export async function failOver(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const { placement } = cluster;
  if (placement === null) return;
  const asked = { ...placement.asked, workspace: cluster.workspace };
  const offers = await listOffers(ctx, asked, signal, placement);
  const [next] = offers.open;
  if (next === undefined) {
    await beginAnew(ctx, cluster, placement);
    refuseRefused(placement.asked, offers);
  }
  // The doors to its nodes were those of another provider.
  ctx.agents.forget(cluster.id);
  const hooks = await movedHooks(ctx, cluster, next);
  const news = newsOf(placement, next);
  const isWritten = await ctx.batch(async (tx) => {
    if (!(await hold(tx, "cluster", cluster))) return false;
    await admitCluster(ctx, tx, { ...cluster, offer: next });
    await setOffer(tx, cluster.id, { ...placedAt(cluster, placement, next) });
    if (hooks !== undefined) await setHooks(tx, cluster.id, hooks);
    if (news === undefined) return true;
    const event = { noun: "cluster", id: cluster.id, reason: news, at: ctx.now() };
    await addEvent(tx, { ...event, isNoteworthy: true });
    return true;
  });
  if (isWritten) ctx.log.info({ cluster: cluster.name, offer: next }, "trying another offer");
  if (isWritten && news !== undefined) narrate(ctx, cluster.id, news);
}

/** People are told once of each offer; not each time that the list is begun anew. */
function newsOf({ tried, since }: Placement, next: Offer): string | undefined {
  const last = tried.at(-1);
  if (last === undefined || since > 0) return undefined;
  return `no machines at ${describeOffer(last.offer)}: ${last.why}; trying ${describeOffer(next)}`;
}

/** What another launch has set meanwhile stays. */
function placedAt(cluster: Cluster, placement: Placement, offer: Offer) {
  const before = placed(placement.asked, cluster.offer);
  const { ports, labels, machine } = placed(placement.asked, offer);
  const { image: _image, diskGb: _diskGb, priorityClass: _class, ...said } = cluster.machine;
  return {
    offer,
    ports: isDeepStrictEqual(before.ports, cluster.ports) ? ports : cluster.ports,
    labels,
    machine: { ...machine, ...said },
    placement: { ...placement, isRefused: false },
  };
}

async function beginAnew(ctx: Ground, cluster: Cluster, placement: Placement): Promise<void> {
  const since = ctx.now().getTime();
  await ctx.batch(async (tx) => {
    if (await hold(tx, "cluster", cluster))
      await setPlacement(tx, cluster.id, { ...placement, tried: [], since });
  });
}
