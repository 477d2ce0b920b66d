import type { Context } from "../context.ts";
import type { Reconciler } from "../reconciler.ts";
import { listGoneSince } from "./history-store.ts";
import { remark } from "./provision-log.ts";
import { findCluster } from "./store.ts";

/** Longer than a provider takes to make a node that it was asked for. */
export const arriveWithinMs = 45 * 60_000;

/**
 * Deletes nodes that arrive after their cluster is gone. A process that is killed or overtaken while it
 * asks a provider for a node cannot take that back, and the next one may find nothing there yet.
 */
export const lateNodes: Reconciler = {
  name: "late nodes",
  everyMs: 60_000,
  atOnce: 4,
  due: (ctx) => listGoneSince(ctx.db, ctx.now().getTime() - arriveWithinMs),
  reconcile: deleteLateNodes,
};

async function deleteLateNodes(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const cluster = await findCluster(ctx.db, id);
  const provider = ctx.providers.find(({ name }) => name === cluster?.provider);
  if (cluster?.status !== "GONE" || provider === undefined) return;
  if (ctx.now().getTime() - cluster.statusChangedAt > arriveWithinMs) return;
  const nodes = await provider.list(cluster, signal);
  for (const { id: nodeId, rank } of nodes) {
    await provider.destroy(nodeId, signal);
    const reason = `node ${rank} arrived after the cluster was gone, and was deleted`;
    await remark(ctx, id, reason, true);
    ctx.log.warn({ cluster: cluster.name, node: nodeId }, "a late node was deleted");
  }
}
