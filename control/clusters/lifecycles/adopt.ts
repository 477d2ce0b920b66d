import { isDeepStrictEqual } from "node:util";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import type { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { clusterMachine } from "../../../contract/statuses.ts";
import type { Context } from "../../context.ts";
import type { Connection } from "../../db/open.ts";
import { addEvent } from "../../events.ts";
import type { Ground } from "../../ground.ts";
import { move } from "../../move.ts";
import { type Cluster, clusterKey } from "../schema.ts";
import { getCluster } from "../store.ts";
import { wantCluster } from "../want.ts";
import { merged, newsOf, without } from "./news.ts";
import type { StoredLifecycle } from "./schema.ts";
import { dropLifecycle, findLifecycle, listLifecycles, listOpen, putLifecycle } from "./store.ts";

/** The cluster of lifecycles. */
type Of = Pick<Cluster, "id" | "nodes">;

/** Of a node's lifecycles only the newest can have changed. */
const lookedAt = 20;

/**
 * Writes down what a node tells of its lifecycles: also those that it began by itself. What is new
 * becomes events of the cluster, each once; a stop of the idle timer becomes what is wanted. False
 * when nothing was new.
 */
export async function adoptLifecycles(
  ctx: Context,
  cluster: Cluster,
  rank: number,
  signal: AbortSignal,
): Promise<boolean> {
  const told = await ctx.agent(cluster, rank).call(api.listLifecycles, {}, { signal });
  return adoptTold(ctx, cluster, rank, told);
}

/** The same for what a node has told already. */
export async function adoptTold(
  ctx: Context,
  cluster: Of,
  rank: number,
  told: readonly Lifecycle[],
): Promise<boolean> {
  const { id } = cluster;
  const known = (await listLifecycles(ctx.db, id)).filter((one) => one.rank === rank);
  const at = ctx.steadyNow();
  const isKnown = (one: Lifecycle) => {
    const before = known.find((row) => row.id === one.id);
    return before !== undefined && isDeepStrictEqual(before, merged(id, rank, before, one, at));
  };
  let isNew = false;
  for (const one of told.slice(0, lookedAt).toReversed())
    if (!isKnown(one)) isNew = (await adopt(ctx, cluster, { rank, ...one })) || isNew;
  return (await endUntold(ctx, { id, rank, known }, told)) || isNew;
}

/** A lifecycle as a node of a cluster tells it. */
type Told = Lifecycle & Pick<StoredLifecycle, "rank">;

/** Writes down what a node tells of one lifecycle; false when nothing was new. */
export async function adopt(ctx: Ground, of: Of, told: Told): Promise<boolean> {
  if (await adoptIdleStop(ctx, of, told)) return true;
  const isNew = await ctx.batch((tx) => record(ctx, tx, of, told));
  ctx.changes.notify(clusterKey(of.id));
  return isNew;
}

/** The idle timer of a cluster that is up has run out: what was set for that case is wanted. */
async function adoptIdleStop(ctx: Ground, of: Of, told: Told): Promise<boolean> {
  const { rank } = told;
  const clusterId = of.id;
  if (rank !== 0 || told.cause !== "idle" || told.endedAt !== null) return false;
  const cluster = await getCluster(ctx.db, clusterId);
  const isUp = cluster.status === "UP" && cluster.wanted === "UP";
  if (!isUp || cluster.autostop === null) return false;
  if ((await findLifecycle(ctx.db, { ...told, clusterId })) !== undefined) return false;
  const wanted = told.events.includes("down") ? "GONE" : "STOPPED";
  const isMoved = await move(ctx, clusterMachine, cluster, "AUTOSTOPPING", told.because, {
    async also(tx) {
      await wantCluster(tx, clusterId, { wanted, because: told.because });
      await record(ctx, tx, of, told);
    },
  });
  ctx.changes.notify(clusterKey(clusterId));
  return isMoved;
}

/** The same within a transaction: the row, and an event for each line that is new. */
async function record(ctx: Ground, tx: Connection, of: Of, told: Told): Promise<boolean> {
  const before = await findLifecycle(tx, { ...told, clusterId: of.id });
  const now = merged(of.id, told.rank, before, told, ctx.steadyNow());
  if (isDeepStrictEqual(before, now)) return false;
  if (before === undefined && now.endedAt === null) await dropJoined(tx, now);
  await write(ctx, tx, of, before, now);
  return true;
}

/** A node has one lifecycle at a time: one of ours that it answered with another is that other. */
async function dropJoined(tx: Connection, now: StoredLifecycle): Promise<void> {
  for (const one of await listOpen(tx, now.clusterId))
    if (one.rank === now.rank && one.runs.length === 0) await dropLifecycle(tx, one);
}

/** Writes what became of a lifecycle, and of hooks that were lost with it, within a transaction. */
export async function write(
  ctx: Ground,
  tx: Connection,
  { id, nodes }: Of,
  before: StoredLifecycle | undefined,
  now: StoredLifecycle,
  losses: readonly string[] = [],
): Promise<void> {
  const at = ctx.now();
  const news = [
    ...newsOf({ nodes }, before, now, at.getTime(), ctx.steadyNow()),
    ...losses.map((line) => ({ line, at: at.getTime(), isNoteworthy: true })),
  ];
  await putLifecycle(tx, now);
  for (const { line: reason, at, isNoteworthy = false } of news)
    await addEvent(tx, { noun: "cluster", id, reason, isNoteworthy, at: new Date(at) });
}

/** What a node does not know is over: it is another machine, or was never told. */
async function endUntold(
  ctx: Ground,
  { id: clusterId, rank, known }: { id: string; rank: number; known: readonly StoredLifecycle[] },
  told: readonly Lifecycle[],
): Promise<boolean> {
  const isOver = (one: StoredLifecycle) =>
    one.rank === rank && one.status !== "LEAVING" && !told.some(({ id }) => id === one.id);
  if (!known.some((one) => one.endedAt === null && isOver(one))) return false;
  const isAny = await ctx.batch(async (tx) => {
    const cluster = await getCluster(tx, clusterId);
    const over = (await listOpen(tx, clusterId))
      .filter(isOver)
      // One of ours may be on its way to the node.
      .filter(({ cause }) => cause === "provider" || cluster.wanted === "UP");
    await endAll(ctx, tx, cluster, over);
    return over.length > 0;
  });
  ctx.changes.notify(clusterKey(clusterId));
  return isAny;
}

/**
 * Ends lifecycles whose nodes went, within a transaction. What was on its way to a stop that is not
 * wanted any more is CANCELLED.
 */
export async function endAll(
  ctx: Ground,
  tx: Connection,
  cluster: Of & Pick<Cluster, "status" | "wanted">,
  lifecycles: readonly StoredLifecycle[],
): Promise<void> {
  const { status, wanted } = cluster;
  for (const one of lifecycles) {
    const isTakenBack = wanted === "UP" && status !== "STOPPED" && one.cause !== "provider";
    const end = without(one, isTakenBack ? "CANCELLED" : "DONE", ctx.now().getTime());
    await write(ctx, tx, cluster, one, end);
  }
}

/** Ends the lifecycles of nodes that are not there any more. */
export async function endOfNodes(
  ctx: Ground,
  clusterId: string,
  ranks: readonly number[],
): Promise<void> {
  await ctx.batch(async (tx) => {
    const open = (await listOpen(tx, clusterId)).filter(({ rank }) => ranks.includes(rank));
    await endAll(ctx, tx, await getCluster(tx, clusterId), open);
  });
  ctx.changes.notify(clusterKey(clusterId));
}
