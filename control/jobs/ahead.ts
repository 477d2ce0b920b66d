import { AppError } from "../../common/errors.ts";
import { noticeOf, wantGone } from "../clusters/managed.ts";
import type { Cluster } from "../clusters/schema.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import { addEvent } from "../events.ts";
import { addClusterFor, freeNameOf, newClusterId } from "./clusters.ts";
import { openTask } from "./document.ts";
import { hasRoomToLaunch, placeReasons } from "./places.ts";
import type { JobTask } from "./schema.ts";
import { setTask } from "./store.ts";

/** The cluster of the next attempt, which is made while the machine of the present one is being taken away. */

/**
 * Has that cluster made where a machine has notice. Answers what it waits for, if it waits; what fails is tried again
 * when the next attempt begins.
 */
export async function makeAhead(
  ctx: Context,
  task: JobTask,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string | null> {
  const notice = await noticeOf(ctx, cluster);
  if (notice === undefined || task.poolId !== null) return null;
  const open = await openTask(ctx, task);
  if (typeof open === "string" || open.task.resources.jobRecovery?.strategy === "none") return null;
  const clusterId = task.nextClusterId ?? newClusterId();
  if (task.nextClusterId === null && !(await begin(ctx, task, clusterId, notice)))
    return `its next cluster ${placeReasons.launch(ctx.config)}`;
  const next = { attempt: task.attempt + 1, clusterId, clusterName: freeNameOf(task, clusterId) };
  try {
    await addClusterFor(ctx, task, next, open, signal);
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // Others may be launched meanwhile.
    await ctx.batch((tx) => setTask(tx, task.id, { launchingAt: null }));
    return `its next cluster waits until it can be created: ${error.message}`;
  }
}

/** Writes down which cluster it will be, where one more may be launched. */
async function begin(
  ctx: Context,
  task: JobTask,
  nextClusterId: string,
  notice: string,
): Promise<boolean> {
  const at = ctx.now();
  const reason = `${notice}; the cluster of its next attempt is created meanwhile`;
  return ctx.batch(async (tx) => {
    if (!(await hasRoomToLaunch(ctx, tx))) return false;
    await setTask(tx, task.id, { nextClusterId, launchingAt: at.getTime() });
    await addEvent(tx, { noun: "managed_job", id: task.id, reason, at });
    return true;
  });
}

/** Deletes it where no next attempt begins; true once nothing of it is left. */
export async function leaveAhead(ctx: Context, task: JobTask): Promise<boolean> {
  if (task.nextClusterId === null) return true;
  const next = await findCluster(ctx.db, task.nextClusterId);
  if (next === undefined || next.status === "GONE") return true;
  if (next.wanted !== "GONE") await wantGone(ctx, next.id, task.reason);
  return false;
}
