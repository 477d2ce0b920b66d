import { isDeepStrictEqual } from "node:util";
import { agentOperations } from "../../contract/agent-api.ts";
import type { Context } from "../context.ts";
import { nudge } from "../reconciler.ts";
import { admitAutostop } from "../workspaces/admit.ts";
import { headOf } from "./head.ts";
import { haveSameHooks, tellHooks } from "./hooks/told.ts";
import { type AutostopSetting, agentAutostop, type Cluster } from "./schema.ts";
import { getCluster, setAutostop } from "./store.ts";

/**
 * Keeps what happens to a cluster once it is idle, and tells its nodes. Throws
 * `UserRequestRejectedByPolicy` where its workspace does not allow that.
 */
export async function keepAutostop(
  ctx: Context,
  cluster: Cluster,
  setting: AutostopSetting | null,
  signal: AbortSignal,
): Promise<void> {
  await ctx.batch(async (tx) => {
    await admitAutostop(ctx, tx, cluster, setting);
    await setAutostop(tx, cluster.id, setting);
  });
  await apply(ctx, cluster, signal);
}

/** Tells the nodes of a cluster that is up what was set since `before`: autostop and hooks. */
export async function apply(ctx: Context, before: Cluster, signal: AbortSignal): Promise<void> {
  const cluster = await getCluster(ctx.db, before.id);
  if (cluster.status !== "UP") return;
  const call = headOf(ctx, cluster).call;
  const idle = await call(agentOperations.setAutostop, agentAutostop(cluster), { signal }).catch(
    (error: unknown) => {
      // The next pass watches the head again, and compares what was set.
      ctx.watches.forget(cluster.id);
      void nudge(ctx, "cluster", cluster.id);
      throw error;
    },
  );
  ctx.watches.noteIdle(cluster.id, cluster.autostop === null ? undefined : idle);
  if (!haveSameHooks(before, cluster)) await tellAll(ctx, cluster, signal);
  // What was set meanwhile may have reached the nodes before this did.
  const now = await getCluster(ctx.db, cluster.id);
  const isCurrent =
    isDeepStrictEqual(now.autostop, cluster.autostop) && haveSameHooks(cluster, now);
  if (!isCurrent) await apply(ctx, cluster, signal);
}

/** A node that cannot be told now is told by the next look at it. */
async function tellAll(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  try {
    await tellHooks(ctx, cluster, [...Array(cluster.nodes).keys()], signal);
  } catch (error) {
    signal.throwIfAborted();
    ctx.log.info({ err: error, clusterId: cluster.id }, "the hooks of a node were not updated");
    void nudge(ctx, "cluster", cluster.id);
  }
}
