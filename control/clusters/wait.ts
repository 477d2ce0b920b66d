import { AppError, fail, isErrorType } from "../../common/errors.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { hasMovedTo, lastSeq } from "../events.ts";
import { readFrom, sizeOf } from "../growing-file.ts";
import { nudge } from "../reconciler.ts";
import type { Failure } from "../requests/schema.ts";
import { narrate, provisionLogOf } from "./provision-log.ts";
import { type Cluster, clusterKey, type Wanted } from "./schema.ts";
import { getCluster, setWanted } from "./store.ts";

/** Writes down what a cluster should be and has the reconciler begin. */
export async function want(ctx: Context, id: string, wanted: Wanted, because: string) {
  await ctx.batch((tx) => setWanted(tx, id, wanted, because));
  ctx.changes.notify(clusterKey(id));
  void nudge(ctx, "cluster", id);
}

export interface ReachOptions {
  /** Goes on although an attempt failed. */
  keepTrying?: boolean;
}

/** Wants a cluster to be something and waits as `untilReached` does. */
export async function reach(
  ctx: Context,
  id: string,
  { wanted, because }: { wanted: Wanted; because: string },
  call: Call,
  { keepTrying = false }: ReachOptions = {},
): Promise<Cluster> {
  const printed = await sizeOf(provisionLogOf(ctx, id));
  const after = await lastSeq(ctx.db);
  await want(ctx, id, wanted, because);
  return untilReached(ctx, id, wanted, call, { keepTrying, printed, after });
}

interface WaitOptions extends ReachOptions {
  /** How much of the provisioning log this call need not show. */
  printed: number;
  /** It is enough that the cluster was as wanted after this event, whatever others want by now. */
  after?: number;
}

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
  const file = provisionLogOf(ctx, id);
  let printed = shown;
  const printNews = async () => {
    for await (const chunk of readFrom(file, printed)) {
      printed += chunk.length;
      call.print(chunk.toString());
    }
  };
  const look = async () => {
    await printNews();
    const cluster = await getCluster(ctx.db, id);
    if (cluster.status === wanted && cluster.wanted === wanted) return cluster;
    if (after !== undefined && (await hasMovedTo(ctx.db, "cluster", id, wanted, after)))
      return cluster;
    if (cluster.wanted !== wanted) refuseOvertaken(cluster);
    if (cluster.problem !== null && !keepTrying) throw errorOf(cluster.problem);
    return undefined;
  };
  return call.aside(ctx.changes.until(clusterKey(id), look, call.signal));
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
export async function untilSettled(ctx: Context, cluster: Cluster, call: Call): Promise<void> {
  const { id, name, wanted, wantedBecause } = cluster;
  const note = `waits until cluster ${name} is ${did[wanted]} (${wantedBecause})`;
  await call.note(note);
  call.print(`${note}\n`);
  const look = async () => {
    const now = await getCluster(ctx.db, id);
    const isOver = now.status === now.wanted || now.wanted !== wanted;
    if (!isOver && now.problem !== null) throw errorOf(now.problem);
    return isOver || undefined;
  };
  await call.aside(ctx.changes.until(clusterKey(id), look, call.signal));
  await call.note(null);
}

/** Takes down what a failed launch had begun. */
export async function undo(
  ctx: Context,
  cluster: Pick<Cluster, "id" | "name">,
  because: string,
): Promise<void> {
  narrate(ctx, cluster.id, `cluster ${cluster.name} is removed: ${because}`);
  await want(ctx, cluster.id, "GONE", because);
}
