import { listLiveOf } from "../../clusters/list-store.ts";
import type { Context } from "../../context.ts";
import type { Connection } from "../../db/open.ts";
import { addEvent } from "../../events.ts";
import { taskKey, waitForFittingWorker, waitForWorker } from "../../jobs/schema.ts";
import { setTask } from "../../jobs/store.ts";
import { listHeld, listQueued, placeTask, type QueuedTask } from "../../jobs/work-store.ts";
import { nudge } from "../../reconciler.ts";
import { isLive } from "../decisions/plan.ts";
import { listReplicas } from "../replicas/store.ts";
import type { Replica, Service } from "../schema.ts";
import { couldTake, placeFor, type Room } from "./place.ts";

interface Worker extends Room {
  readonly replica: Replica & { readonly clusterId: string };
}

/** Gives the jobs that wait for a worker of a pool those that have room, in the order of the queue. */
export async function assign(ctx: Context, pool: Service): Promise<void> {
  const clusters = await workersOf(ctx, pool);
  if (clusters.length === 0) return;
  const { ids, told } = await ctx.batch(async (tx) => {
    const held = Map.groupBy(await listHeld(tx, pool.id), ({ clusterId }) => clusterId);
    const standing = new Set(
      (await listReplicas(tx, pool.id)).filter(takesJobs).map(({ id }) => id),
    );
    let workers = clusters
      .filter(({ replica }) => standing.has(replica.id))
      .map((one) => ({
        ...one,
        held: (held.get(one.replica.clusterId) ?? []).map(({ share }) => share),
      }));
    const ids: string[] = [];
    const waiting: QueuedTask[] = [];
    for (const task of await listQueued(tx, pool.id)) {
      const worker = placeFor(workers, task.share);
      if (worker === undefined) {
        waiting.push(task);
        continue;
      }
      const { clusterId, clusterName, number } = worker.replica;
      await placeTask(tx, task.id, { clusterId, clusterName });
      const reason = `is given worker ${number} of pool ${pool.name}`;
      await addEvent(tx, { noun: "managed_job", id: task.id, reason, at: ctx.now() });
      workers = workers.map((one) =>
        one.replica.id === worker.replica.id ? withTask(one, task) : one,
      );
      ids.push(task.id);
    }
    const told: string[] = [];
    for (const task of waiting) if (await tellWhy(ctx, tx, pool, task, workers)) told.push(task.id);
    return { ids, told };
  });
  for (const id of [...ids, ...told]) ctx.changes.notify(taskKey(id));
  for (const id of ids) void nudge(ctx, "managed_job", id);
}

/** Says of a task that waits whether any worker could take it; false where that is said already. */
async function tellWhy(
  ctx: Context,
  tx: Connection,
  { name: pool }: Service,
  task: QueuedTask,
  workers: readonly Room[],
): Promise<boolean> {
  const isAny = workers.some((one) => couldTake(one, task.share));
  const waitsFor = isAny ? waitForWorker({ pool }) : waitForFittingWorker(pool, task);
  if (workers.length === 0 || waitsFor === task.waitsFor) return false;
  await setTask(tx, task.id, { waitsFor });
  await addEvent(tx, { noun: "managed_job", id: task.id, reason: waitsFor, at: ctx.now() });
  return true;
}

const withTask = <One extends Room>(room: One, { share }: QueuedTask): One => ({
  ...room,
  held: [...room.held, share],
});

const takesJobs = (replica: Replica): boolean => replica.status === "READY" && isLive(replica);

async function workersOf(ctx: Context, { id }: Service): Promise<Worker[]> {
  const ready = (await listReplicas(ctx.db, id)).filter(takesJobs);
  const clusters = await listLiveOf(
    ctx.db,
    ready.flatMap(({ clusterId }) => clusterId ?? []),
  );
  const up = new Map(
    clusters
      .filter(({ status, wanted }) => status === "UP" && wanted === "UP")
      .map((one) => [one.id, one]),
  );
  return ready.flatMap((replica) => {
    const cluster = up.get(replica.clusterId ?? "");
    if (cluster === undefined) return [];
    const { nodes, offer } = cluster;
    const { cpus, memoryGb, accelerators } = offer;
    return {
      replica: { ...replica, clusterId: cluster.id },
      nodes,
      cpus,
      memoryGb,
      accelerators,
      held: [],
    };
  });
}
