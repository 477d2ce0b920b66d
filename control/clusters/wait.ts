import { buffer } from "node:stream/consumers";
import { AppError, fail, isErrorType } from "../../common/errors.ts";
import { readFrom, sizeOf } from "../../common/growing-file.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Connection } from "../db/open.ts";
import { hasMovedTo, lastSeq } from "../events.ts";
import type { Ground } from "../ground.ts";
import type { Failure } from "../requests/schema.ts";
import { admitCluster } from "../workspaces/admit.ts";
import { openHookHints } from "./hooks/hint.ts";
import { provisionLogOf, remark } from "./provision-log.ts";
import { type Cluster, clusterKey, type Wanted, type Wish } from "./schema.ts";
import { getCluster } from "./store.ts";
import { type Desire, wake, wantCluster } from "./want.ts";

export interface ReachOptions {
  /** Goes on although an attempt failed. */
  keepTrying?: boolean;
}

/**
 * Writes a call's wish, and in the same transaction that the call has made it. False where it is too
 * late for that wish.
 */
export async function makeWish(
  ctx: Context,
  wish: Wish,
  desire: Desire,
  call: Call,
): Promise<boolean> {
  let isMade = false;
  await call.remember({ wish }, async (tx) => {
    if (desire.wanted === "UP") await admitStart(ctx, tx, wish.clusterId);
    isMade = await wantCluster(tx, wish.clusterId, desire);
  });
  wake(ctx, wish.clusterId);
  return isMade;
}

/** One that is on has its place in its workspace already. */
async function admitStart(ctx: Ground, tx: Connection, id: string): Promise<void> {
  const cluster = await getCluster(tx, id);
  if (cluster.status === "STOPPED" && cluster.wanted !== "UP") await admitCluster(ctx, tx, cluster);
}

/**
 * Wants the cluster that `find` finds to be something, and waits as `untilReached` does. A second
 * attempt only waits: by then others may want something else.
 */
export async function reach(
  ctx: Context,
  find: () => Promise<Cluster>,
  desire: Desire,
  call: Call,
  options: ReachOptions = {},
): Promise<Cluster> {
  const wish = call.progress.wish ?? (await newWish(ctx, find, desire, call));
  return untilReached(ctx, wish.clusterId, desire.wanted, call, { ...options, ...wish });
}

/** Finds the cluster anew where it came to be too late for the wish: `find` then waits, or refuses. */
async function newWish(
  ctx: Context,
  find: () => Promise<Cluster>,
  desire: Desire,
  call: Call,
): Promise<Wish> {
  for (;;) {
    const { id } = await find();
    const printed = await sizeOf(provisionLogOf(ctx, id));
    const wish = { clusterId: id, printed, after: await lastSeq(ctx.db) };
    if (await makeWish(ctx, wish, desire, call)) return wish;
  }
}

type WaitOptions = ReachOptions & Pick<Wish, "printed" | "after">;

/**
 * Waits until a cluster is what this call wants it to be, and prints what happens meanwhile.
 * Throws why it cannot be reached, or `ClusterNotUpError` when somebody else came to want something
 * different.
 */
export async function untilReached(
  ctx: Context,
  id: string,
  wanted: Wanted,
  call: Call,
  { keepTrying = false, printed: shown, after }: WaitOptions,
): Promise<Cluster> {
  const { printNews, printHint } = printersOf(ctx, id, shown, call);
  const look = async () => {
    await printNews();
    const cluster = await getCluster(ctx.db, id);
    await printHint(cluster);
    if (cluster.status === wanted && cluster.wanted === wanted) return cluster;
    if (after !== undefined && (await hasMovedTo(ctx.db, "cluster", id, wanted, after)))
      return cluster;
    if (cluster.wanted !== wanted || cluster.status === "GONE") refuseOvertaken(cluster);
    if (cluster.problem !== null && !keepTrying) throw errorOf(cluster.problem);
    return undefined;
  };
  const reached = await call.aside(ctx.changes.until(clusterKey(id), look, call.signal));
  // The line about a move is written once the move is.
  await printNews();
  return reached;
}

/** What prints the rest of a cluster's provisioning log, and which hooks run. */
function printersOf(ctx: Context, id: string, shown: number, call: Call) {
  const file = provisionLogOf(ctx, id);
  let printed = shown;
  const hookHint = openHookHints(ctx);
  return {
    async printNews(): Promise<void> {
      if ((await sizeOf(file)) <= printed) return;
      const news = await buffer(readFrom(file, printed));
      printed += news.length;
      call.print(news.toString());
    },
    async printHint(cluster: Cluster): Promise<void> {
      call.print(await hookHint(cluster));
    },
  };
}

const errorOf = ({ type, message, details }: Failure): AppError =>
  new AppError(isErrorType(type) ? type : "InternalError", message, { ...details });

const did: Record<Wanted, string> = {
  UP: "started",
  STOPPED: "stopped",
  GONE: "taken down",
};

function refuseOvertaken({ name, status, wanted, wantedBecause }: Cluster): never {
  fail(
    "ClusterNotUpError",
    `cluster ${name} is being ${did[wanted]} meanwhile (${wantedBecause}); this request ends here`,
    { status },
  );
}

/**
 * Waits until a cluster has become what others want of it; says so in the request's record. Throws
 * why it cannot become that.
 */
export async function untilSettled(ctx: Ground, cluster: Cluster, call: Call): Promise<void> {
  const { id, name, wanted, wantedBecause } = cluster;
  // An idle cluster is about to be stopped, or not; that is decided within a moment.
  const note =
    wanted !== "UP" && `waits until cluster ${name} is ${did[wanted]} (${wantedBecause})`;
  if (note) await call.note(note);
  if (note) call.print(`${note}\n`);
  const look = async () => {
    const now = await getCluster(ctx.db, id);
    const isOver = [now.wanted, "GONE"].includes(now.status) || now.wanted !== wanted;
    if (!isOver && now.problem !== null) throw errorOf(now.problem);
    return isOver || undefined;
  };
  await call.aside(ctx.changes.until(clusterKey(id), look, call.signal));
  await call.note(null);
}

/** Takes down what a failed launch had begun; `look` comes once that is written, and before it begins. */
export async function undo(
  ctx: Context,
  { id, name }: Pick<Cluster, "id" | "name">,
  desire: Omit<Desire, "wanted">,
  look = async () => {},
): Promise<void> {
  await remark(ctx, id, `cluster ${name} is removed: ${desire.because}`);
  await ctx.batch((tx) => wantCluster(tx, id, { ...desire, wanted: "GONE" }));
  await look().finally(() => wake(ctx, id));
}
