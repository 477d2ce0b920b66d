import { setTimeout as sleep } from "node:timers/promises";
import { agentOperations as api } from "../../contract/agent-api.ts";
import { renewEveryMs, surelyOverMs } from "../../contract/lease.ts";
import type { Cluster } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { nudge } from "../reconciler.ts";
import type { JobLeases, LeasedTask } from "./schema.ts";

/** What control knows of the lease of a node. Instants are of the steady clock. */
interface Held {
  /** When the node last gave an instant, or when it was first asked for one. */
  heardAt: number;
  /** That instant, by the node's own clock; null before the first. */
  at: number | null;
  /** Whether the node has said that its lease is over. */
  isOver: boolean;
}

interface Holding {
  readonly nodes: readonly Held[];
  readonly abort: AbortController;
  readonly done: Promise<unknown>;
}

const retryMs = 1_000;

const callMsOf = ({ leaseMs }: LeasedTask): number => Math.min(10_000, leaseMs / 5);

/** A node that answers is heard again by then. */
const silentAfterMs = (task: LeasedTask): number => 2 * renewEveryMs(task.leaseMs) + callMsOf(task);

const endOf = ({ leaseMs }: LeasedTask, { heardAt }: Held): number =>
  heardAt + surelyOverMs(leaseMs);

/** Holds nothing yet. */
export function openJobLeases(world: () => Context): JobLeases {
  const held = new Map<string, Holding>();

  function hold(task: LeasedTask, cluster: Cluster): Holding {
    const known = held.get(cluster.id);
    if (known !== undefined) return known;
    const ctx = world();
    const abort = new AbortController();
    const nodes = Array.from({ length: cluster.nodes }, () => ({
      heardAt: ctx.steadyNow(),
      at: null,
      isOver: false,
    }));
    const renewing = nodes.map((node, rank) =>
      keepRenewing(ctx, task, { cluster, rank, node }, abort.signal),
    );
    const done = Promise.allSettled(renewing).then(() => held.delete(cluster.id));
    const holding = { nodes, abort, done };
    held.set(cluster.id, holding);
    return holding;
  }

  return {
    keep(task, cluster) {
      const now = world().steadyNow();
      const silent = hold(task, cluster).nodes.filter(
        ({ heardAt }) => now - heardAt > silentAfterMs(task),
      );
      if (silent.length === 0) return { until: null, isOver: false };
      const until = Math.max(...silent.map((node) => endOf(task, node)));
      return { until, isOver: until <= now };
    },
    has: (clusterId) => held.has(clusterId ?? ""),
    async begin(task, cluster, signal) {
      const { nodes } = hold(task, cluster);
      const renewals = nodes.map((node, rank) =>
        renew(world(), task, { cluster, rank, node }, signal),
      );
      await Promise.all(renewals);
      return nodes.every(({ isOver }) => !isOver);
    },
    async stop() {
      const all = [...held.values()];
      for (const { abort } of all) abort.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

interface LeasedNode {
  readonly cluster: Cluster;
  readonly rank: number;
  readonly node: Held;
}

/** Renews the lease of a node until its cluster is not wanted any more, or the lease is over. */
async function keepRenewing(
  ctx: Context,
  task: LeasedTask,
  leased: LeasedNode,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, rank, node } = leased;
  const isSilent = () => ctx.steadyNow() - node.heardAt > silentAfterMs(task);
  let wasSilent = false;
  while (!node.isOver && (await isWanted(ctx, cluster))) {
    await renew(ctx, task, leased, signal).catch((err: unknown) => {
      signal.throwIfAborted();
      ctx.log.debug({ err, clusterId: cluster.id, rank }, "lease not renewed");
    });
    // Nothing else may tell of it.
    if (isSilent() !== wasSilent) void nudge(ctx, "managed_job", task.id);
    wasSilent = isSilent();
    const pauseMs = renewEveryMs(task.leaseMs);
    await sleep(wasSilent ? Math.min(pauseMs, retryMs) : pauseMs, undefined, { signal });
  }
}

/** A database that cannot be read for a moment must not end an attempt that is well. */
async function isWanted(ctx: Context, { id }: Cluster): Promise<boolean> {
  try {
    return (await findCluster(ctx.db, id))?.wanted === "UP";
  } catch (err) {
    ctx.log.warn({ err, clusterId: id }, "cluster of a lease not read; renewing");
    return true;
  }
}

/** The instant that comes is written down before it is ever sent back: no lease lasts longer than control thinks. */
async function renew(
  ctx: Context,
  task: LeasedTask,
  { cluster, rank, node }: LeasedNode,
  signal: AbortSignal,
): Promise<void> {
  const renewal = { clusterId: cluster.id, leaseMs: task.leaseMs, heard: node.at };
  const options = { signal, timeoutMs: callMsOf(task) };
  const { at } = await ctx.agent(cluster, rank).call(api.renewLease, renewal, options);
  node.isOver = at === null;
  // An answer that came out of order is an older instant than the one that is known.
  if (at === null || at <= (node.at ?? 0)) return;
  node.heardAt = ctx.steadyNow();
  node.at = at;
}
