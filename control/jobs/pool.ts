import { fail } from "../../common/errors.ts";
import { listedBy } from "../../contract/spelling.ts";
import type { ResourceRequest } from "../../contract/task/resource-request.ts";
import type { Task } from "../../contract/task.ts";
import { type Identity, seesWorkspace } from "../access/identity.ts";
import type { Context } from "../context.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { nudge } from "../reconciler.ts";
import { refuseLeaving } from "../services/schema.ts";
import { findLiveService, getService } from "../services/store.ts";
import { tellWait } from "./move.ts";
import { rankOf } from "./place-store.ts";
import { type JobTask, type Share, type Way, waitForWorker } from "./schema.ts";
import { setTask } from "./store.ts";

/** Jobs on workers of a pool, instead of clusters of their own. */

/** The id of the pool that a job is submitted to. Throws where there is none that the job could use. */
export async function getPoolId(
  ctx: Ground,
  name: string,
  workspace: string,
  reader: Pick<Identity, "workspaces">,
): Promise<string> {
  const pool = await findLiveService(ctx.db, name);
  if (!pool?.isPool || !seesWorkspace(reader, pool.workspace))
    return fail("NotFoundError", `there is no pool ${name}; ${listedBy("jobs pool status")}`);
  if (pool.workspace !== workspace)
    fail(
      "ValueError",
      `pool ${name} is in workspace ${pool.workspace}: submit the job there, not in ${workspace}`,
    );
  return pool.id;
}

/** Throws `ConflictError` for a pool that is going down; in the transaction that submits a job to it. */
export async function requirePool(tx: Queries, poolId: string | null): Promise<void> {
  if (poolId !== null) refuseLeaving(await getService(tx, poolId));
}

/** What a task takes of a worker. Throws `ValueError` for accelerators that it does not name. */
export const shareOf = (
  { nodes, resources, workdir, fileMounts }: Task,
  blobId: string | null,
): Share => ({
  nodes,
  ways: resources.candidates.map(wayOf),
  files: workdir === undefined && Object.keys(fileMounts).length === 0 ? null : blobId,
});

function wayOf({ cpus, memory, accelerator }: ResourceRequest): Way {
  if (accelerator !== undefined && !("name" in accelerator))
    return fail("ValueError", "a job of a pool must name its accelerators, such as H100:1");
  return {
    cpus: cpus?.count ?? 0,
    memoryGb: memory?.gb ?? 0,
    accelerators: accelerator ? { name: accelerator.name, count: accelerator.count } : null,
  };
}

/** Has a task wait for a worker, which its pool gives it. */
export async function queueUp(ctx: Context, task: JobTask): Promise<undefined> {
  const { id, job, poolId, queuedAt } = task;
  if (queuedAt === null) {
    await tellWait(ctx, task, waitForWorker(job));
    await ctx.batch((tx) =>
      setTask(tx, id, { queuedAt: ctx.now().getTime(), queuedRank: rankOf(job) }),
    );
  }
  void nudge(ctx, "service", poolId ?? "");
}

/** Tells the pool of a task, and the worker that it had, that it is not there any more. */
export function tellPool(
  ctx: Context,
  { poolId, clusterId }: Pick<JobTask, "poolId" | "clusterId">,
): void {
  if (poolId === null) return;
  void nudge(ctx, "service", poolId);
  if (clusterId !== null) void nudge(ctx, "replica", clusterId);
}
