import { setTimeout as sleep } from "node:timers/promises";
import { agentOperations } from "../../contract/agent-api.ts";
import type { AgentEvent } from "../../contract/agent-shapes.ts";
import { clusterMachine } from "../../contract/statuses.ts";
import type { Context } from "../context.ts";
import { linesOf } from "../doors/lines.ts";
import { openSilence } from "../doors/silence.ts";
import { move } from "../move.ts";
import { nudge } from "../reconciler.ts";
import { openRelays } from "./relay.ts";
import { type Cluster, clusterKey } from "./schema.ts";
import { findCluster, getCluster, setWanted } from "./store.ts";

/** Keeps an ear on the agents of clusters that are up: one held response a node. */
export interface Watches {
  /** Listens to the cluster's nodes while it is up, and no longer. */
  keep(cluster: Cluster): void;
  has(clusterId: string): boolean;
  forget(clusterId: string): void;
  stop(): Promise<void>;
}

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** An agent says every five seconds that it lives. */
const silenceMs = 15_000;

/** Opens no ear yet. */
export function openWatches(world: () => Context): Watches {
  const watched = new Map<string, { abort: AbortController; done: Promise<void> }>();

  function forget(id: string): void {
    watched.get(id)?.abort.abort();
    watched.delete(id);
  }

  return {
    keep(cluster) {
      if (cluster.status !== "UP") return forget(cluster.id);
      if (watched.has(cluster.id)) return;
      const abort = new AbortController();
      watched.set(cluster.id, { abort, done: watchCluster(world(), cluster, abort.signal) });
    },
    has: (id) => watched.has(id),
    forget,
    async stop() {
      const all = [...watched.values()];
      for (const { abort } of all) abort.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

async function watchCluster(ctx: Context, cluster: Cluster, signal: AbortSignal): Promise<void> {
  const relays = cluster.nodes > 1 ? openRelays(ctx, cluster, signal) : undefined;
  const heard = (event?: AgentEvent) => {
    if (event?.kind !== "idle") relays?.sync();
    ctx.changes.notify(clusterKey(cluster.id));
  };
  const ranks = [...Array(cluster.nodes).keys()];
  await Promise.all(ranks.map((rank) => watchNode(ctx, cluster, rank, heard, signal)));
  await relays?.done();
}

/** Listens again whenever the response breaks off, and has the cluster looked at. */
async function watchNode(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  heard: (event?: AgentEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = firstPauseMs; !signal.aborted; ) {
    try {
      await listen(ctx, cluster, rank, heard, signal);
      pauseMs = firstPauseMs;
    } catch (error) {
      if (signal.aborted) return;
      ctx.log.debug({ err: error, clusterId: cluster.id, rank }, "agent not heard");
    }
    void nudge(ctx, "cluster", cluster.id);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** What was missed is read from the state itself; then events, until the response ends. */
async function listen(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  heard: (event?: AgentEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const agent = ctx.agent(cluster, rank);
  const { lastSeq } = await agent.call(agentOperations.health, {}, { signal });
  using silence = openSilence(silenceMs, signal);
  const { body } = await agent.open(agentOperations.events, { after: lastSeq }, silence.signal);
  heard();
  if (rank === 0) await stopIfIdle(ctx, cluster.id, signal);
  for await (const line of linesOf(body)) {
    silence.heard();
    if (line === "") continue;
    const event: AgentEvent = JSON.parse(line);
    heard(event);
    if (rank === 0 && event.kind === "idle") await stopIfIdle(ctx, cluster.id, signal);
  }
}

/** The idle timer has run out: what the user set for that case is wanted from now on. */
async function stopIfIdle(ctx: Context, id: string, signal: AbortSignal): Promise<void> {
  const cluster = await findCluster(ctx.db, id);
  if (cluster?.status !== "UP" || cluster.wanted !== "UP" || cluster.autostop === null) return;
  const head = ctx.agent(cluster, 0);
  const seen = await head.call(agentOperations.getIdle, {}, { signal });
  if (!seen.due) return;
  const { down, idleMinutes } = cluster.autostop;
  const reason = `idle for ${idleMinutes} min`;
  if (!(await move(ctx, clusterMachine, cluster, "AUTOSTOPPING", reason))) return;
  // No job is submitted from here on; one that was on its way is seen, or refused, by the head.
  const { due } = await head.call(agentOperations.claimIdle, {}, { signal });
  if (due)
    await ctx.batch(async (tx) => {
      const { status, wanted } = await getCluster(tx, id);
      if (status === "AUTOSTOPPING" && wanted === "UP")
        await setWanted(tx, id, down ? "GONE" : "STOPPED", reason);
    });
  ctx.changes.notify(clusterKey(id));
  void nudge(ctx, "cluster", id);
}
