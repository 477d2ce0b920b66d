import type { Connection, Queries } from "../db/open.ts";
import type { JobTask, Share } from "./schema.ts";

/** The tasks of a pool, as the pool and its workers see them. */

/** A task that waits for a worker. */
export interface QueuedTask extends Pick<JobTask, "id" | "resources" | "waitsFor"> {
  readonly jobId: number;
  readonly share: Share;
}

/** A task that has a worker, as long as something of it may be left there. */
export interface HeldTask extends Pick<JobTask, "id" | "wanted" | "attempt"> {
  readonly jobId: number;
  readonly share: Share;
  readonly clusterId: string;
}

/** So many are looked at for each decision: those behind them wait for these. */
const queuedAtMost = 1_000;

/** The tasks that wait for a worker of a pool, in the order in which they get one. */
export async function listQueued(db: Queries, poolId: string): Promise<QueuedTask[]> {
  const rows = await db
    .selectFrom("job_tasks")
    .select(["id", "job_id", "share", "resources", "waits_for"])
    .where("pool_id", "=", poolId)
    .where("queued_at", "is not", null)
    .where("wanted", "=", "DONE")
    .orderBy("queued_rank")
    .orderBy("job_id")
    .orderBy("number")
    .limit(queuedAtMost)
    .execute();
  return rows.map(({ job_id: jobId, waits_for: waitsFor, share, ...row }) => ({
    ...{ ...row, jobId, waitsFor },
    share: toShare(share),
  }));
}

/** The tasks that workers of a pool have. */
export const listHeld = async (db: Queries, poolId: string): Promise<HeldTask[]> =>
  (await heldTasks(db).where("pool_id", "=", poolId).execute()).map(toHeld);

/** The tasks that a worker has, by its cluster. */
export const listHeldOn = async (db: Queries, clusterId: string): Promise<HeldTask[]> =>
  (await heldTasks(db).where("cluster_id", "=", clusterId).execute()).map(toHeld);

const heldTasks = (db: Queries) =>
  db
    .selectFrom("job_tasks")
    .select(["id", "job_id", "share", "wanted", "attempt", "cluster_id"])
    .where("pool_id", "is not", null)
    .where("settled_at", "is", null)
    .where("cluster_id", "is not", null)
    .orderBy("job_id");

const toHeld = (row: Awaited<ReturnType<ReturnType<typeof heldTasks>["execute"]>>[number]) => ({
  ...{ id: row.id, jobId: row.job_id, share: toShare(row.share) },
  ...{ wanted: row.wanted, attempt: row.attempt, clusterId: row.cluster_id ?? "" },
});

const toShare = (text: string | null): Share =>
  JSON.parse(text ?? '{"nodes":1,"ways":[],"files":null}');

/** Gives a task the next attempt on a worker, in the transaction that has it listed as queued. */
export const placeTask = (
  db: Connection,
  id: string,
  worker: { readonly clusterId: string; readonly clusterName: string },
) =>
  db
    .updateTable("job_tasks")
    .set(({ eb }) => ({
      attempt: eb("attempt", "+", 1),
      ...{ cluster_id: worker.clusterId, cluster_name: worker.clusterName },
      ...{ queued_at: null, waits_for: null },
    }))
    .where("id", "=", id)
    .execute();

/** The tasks of a pool that are not settled, with the numbers of their jobs. */
export const listUnsettledOf = (db: Queries, poolId: string) =>
  db
    .selectFrom("job_tasks")
    .select(["id", "job_id"])
    .where("pool_id", "=", poolId)
    .where("settled_at", "is", null)
    .orderBy("job_id")
    .execute();
