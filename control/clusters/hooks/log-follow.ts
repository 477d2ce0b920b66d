import { existsSync } from "node:fs";
import { offsetOfLastLines, sizeOf } from "../../../common/growing-file.ts";
import type { Context } from "../../context.ts";
import type { Ground } from "../../ground.ts";
import { copyStateOf, readCopy } from "../../log-copy.ts";
import { findLifecycle } from "../lifecycles/store.ts";
import { type Cluster, clusterKey } from "../schema.ts";
import { findCluster } from "../store.ts";
import { type Choice, mayHaveLog } from "./log-choice.ts";
import { hookLogKey } from "./log-copy.ts";
import { fetchHookLogs } from "./log-pump.ts";

/** One node's log, and what is wanted of it. */
export interface HookLog extends Choice {
  readonly cluster: Cluster;
  readonly follow: boolean;
  /** Only the last lines; 0 is everything. */
  readonly tail: number;
  /** Where its copy lies, if there is one. */
  readonly file: string;
}

/** How much of a log is shown as it grows; of what comes later the end is shown once it is known. */
const followAtMost = 32 * 2 ** 20;
/** How long the rest of a log may take whose lifecycle was taken back. */
const restMs = 5_000;

/** What a node wrote, to its end or to what there is of it now. */
export async function* followHookLog(
  ctx: Context,
  log: HookLog,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { file, tail, lifecycle } = log;
  const { gap } = await copyStateOf(file);
  const offset = await offsetOfLastLines(file, tail, gap);
  yield* readCopy(file, offset, (at) => isLastRound(ctx, log, at, signal));
  const now = await findLifecycle(ctx.db, lifecycle);
  const isOpen = now === undefined || now.endedAt === null;
  if (isOpen || (await copyStateOf(file)).isWhole) return;
  yield Buffer.from(
    `\n[the log ends here: the rest could not be fetched from node ${lifecycle.rank}]\n`,
  );
}

/** Whether nothing comes after what is there now; waits until there is more or that is sure. */
async function isLastRound(
  ctx: Context,
  log: HookLog,
  at: number,
  signal: AbortSignal,
): Promise<boolean> {
  const { follow, file, cluster } = log;
  if (!follow) return true;
  const keys = [hookLogKey(cluster.id), clusterKey(cluster.id)];
  const look = async () => {
    if (at < followAtMost && (await sizeOf(file)) > at) return false;
    return (await isOver(ctx, log)) || undefined;
  };
  const isLast = await ctx.changes.until(keys, look, signal);
  if (isLast) await fetchRest(ctx, log, signal);
  return isLast;
}

/** Asked again with each piece that comes. */
async function isOver(ctx: Ground, { lifecycle, event, file }: HookLog): Promise<boolean> {
  if ((await copyStateOf(file)).isWhole) return true;
  const now = await findLifecycle(ctx.db, lifecycle);
  if (now === undefined || now.endedAt !== null) return true;
  return !mayHaveLog({ hasCopy: () => existsSync(file) }, now, event);
}

/** A lifecycle that was taken back leaves a node that can still be asked, and so does a start after it. */
async function fetchRest(
  ctx: Context,
  { cluster, lifecycle, file }: HookLog,
  signal: AbortSignal,
): Promise<void> {
  if ((await copyStateOf(file)).isWhole) return;
  const now = await findLifecycle(ctx.db, lifecycle);
  const isUp = (await findCluster(ctx.db, cluster.id))?.status === "UP";
  if (now?.status !== "CANCELLED" && !isUp) return;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(restMs)]);
  await fetchHookLogs(ctx, cluster, lifecycle.rank, lifecycle.id, limit).catch((error: unknown) => {
    ctx.log.debug({ err: error, clusterId: cluster.id }, "rest of a hook log not fetched");
  });
}
