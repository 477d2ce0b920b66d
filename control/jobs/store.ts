import type { Selectable } from "kysely";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { flag, json, rowsOf } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import { amountOf, countTasks } from "./counts.ts";
import { type JobTask, type Membership, openStatuses, type TaskChange } from "./schema.ts";
import { dropDocument } from "./submit-store.ts";

const tasks = rowsOf<Omit<JobTask, "job">>()(
  "job_tasks",
  [
    ...(["id", "number", "name", "delayMs", "resources", "poolId", "leaseMs"] as const),
    ...(["queuedAt", "status", "reason", "waitsFor", "queuedFor", "queuedRank"] as const),
    ...(["begunAt", "launchingAt", "calledBack", "wanted", "wantedBecause"] as const),
    ...(["attempt", "clusterId", "clusterName", "clusterJob", "nextClusterId", "infra"] as const),
    ...(["recoveries", "restarts", "failures", "ranMs", "runAt", "startedAt"] as const),
    ...(["recoveredAt", "endedAt", "settledAt", "statusChangedAt"] as const),
  ],
  { isPrimary: flag, share: json },
);

/** What changes of a task, as columns of its row. */
export const toColumns = (change: TaskChange) => tasks.toColumns(change);

/** The task with this id. */
export async function findTask(db: Queries, id: string): Promise<JobTask | undefined> {
  const [row] = await selectById(db, { id });
  return row && toTask(row);
}

const selectById = statement((db: Queries, { id }: { readonly id: string }) =>
  selectTasks(db).where("job_tasks.id", "=", id),
);

/** The tasks of jobs, by job and number. */
export async function listTasks(db: Queries, jobIds: readonly number[]): Promise<JobTask[]> {
  const rows = await selectTasks(db)
    .where("job_id", "in", among(jobIds))
    .orderBy("job_id")
    .orderBy("number")
    .execute();
  return rows.map(toTask);
}

/** The task with this number of a job. */
export async function findTaskOf(
  db: Queries,
  jobId: number,
  number: number,
): Promise<JobTask | undefined> {
  const row = await selectTasks(db)
    .where("job_id", "=", jobId)
    .where("number", "=", number)
    .executeTakeFirst();
  return row && toTask(row);
}

/** The primary tasks of a job group, with what decides about the others. */
export async function listPrimary(db: Queries, jobId: number) {
  const rows = await db
    .selectFrom("job_tasks")
    .select(["number", "name", "status", "ended_at"])
    .where("job_id", "=", jobId)
    .where("is_primary", "=", 1)
    .execute();
  return rows.map(({ ended_at: endedAt, ...row }) => ({ ...row, endedAt }));
}

/** The tasks of a job group that may have waited for what has become of another one. */
export async function listWaiting(db: Queries, jobId: number): Promise<string[]> {
  const rows = await db
    .selectFrom("job_tasks")
    .select("id")
    .where("job_id", "=", jobId)
    .where("settled_at", "is", null)
    .where((task) => task.or([task("is_primary", "=", 0), task("waits_for", "is not", null)]))
    .execute();
  return rows.map(({ id }) => id);
}

/** Leaves a task of a pipeline alone until the one before it has ended; not where that has by now. */
export const queueForTurn = (db: Connection, { id, job, number }: JobTask) =>
  db
    .updateTable("job_tasks")
    .set({ queued_for: "turn" })
    .where("id", "=", id)
    .where("wanted", "=", "DONE")
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("job_tasks as before")
          .select("before.id")
          .where("before.job_id", "=", job.id)
          .where("before.number", "=", number - 1)
          .where("before.status", "in", [...openStatuses]),
      ),
    )
    .execute();

/** Has the next task of a pipeline looked at again, in the transaction that ends the one before it. */
export const freeNext = (db: Connection, { job, number }: JobTask) =>
  db
    .updateTable("job_tasks")
    .set({ queued_for: null })
    .where("job_id", "=", job.id)
    .where("number", "=", number + 1)
    .where("queued_for", "=", "turn")
    .execute();

/** The numbers of the jobs that have joined these job groups. */
export async function listMembers(db: Queries, rootIds: readonly number[]): Promise<number[]> {
  const rows = await db
    .selectFrom("managed_jobs")
    .select("id")
    .where("root_id", "in", among(rootIds))
    .orderBy("root_id")
    .orderBy("root_number")
    .execute();
  return rows.map(({ id }) => id);
}

/** The number of the newest job of a name, or of any; only of these users and workspaces. */
export async function findLatestId(
  db: Queries,
  { name, userId, workspaces }: LatestFilter,
): Promise<number | undefined> {
  let newest = db
    .selectFrom("managed_jobs")
    .select("id")
    .where("id", ">", 0)
    .orderBy("id", "desc")
    .limit(1);
  if (name !== undefined) newest = newest.where("name", "=", name);
  if (userId !== undefined) newest = newest.where("user_id", "=", userId);
  if (workspaces !== null) newest = newest.where("workspace", "in", among(workspaces));
  return (await newest.executeTakeFirst())?.id;
}

interface LatestFilter {
  readonly name?: string | undefined;
  readonly userId?: string | undefined;
  /** Null is any. */
  readonly workspaces: readonly string[] | null;
}

/** Tasks that have something left, and are not queued: they have not ended, or their last cluster is not gone. */
export const listUnsettled = (db: Queries) =>
  db
    .selectFrom("job_tasks")
    .select([
      "id",
      "status",
      "waits_for",
      "cluster_id",
      "next_cluster_id",
      "is_primary",
      "lease_ms",
    ])
    .where("settled_at", "is", null)
    .where("queued_for", "is", null)
    // Its pool wakes a task that waits for a worker.
    .where((task) => task.or([task("queued_at", "is", null), task("wanted", "<>", "DONE")]))
    .execute();

/** Writes what changed of a task. */
export const setTask = (db: Connection, id: string, change: TaskChange): Promise<void> =>
  tasks.change(db, { id }, change);

/** The uploads that jobs need which have not ended: their next attempt begins with them. */
export async function listJobBlobs(db: Queries): Promise<string[]> {
  const rows = await db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_id")
    .innerJoin("job_documents", "job_documents.request_id", "managed_jobs.request_id")
    .select("blob_id")
    .distinct()
    .where("settled_at", "is", null)
    .execute();
  return rows.flatMap(({ blob_id }) => blob_id ?? []);
}

/** Jobs of which nothing is left since before an instant, with the ids of their tasks. */
export const listOldTasks = (db: Queries, before: number, limit: number) =>
  db
    .selectFrom("job_tasks as task")
    .select(["id", "job_id"])
    .where("settled_at", "<", before)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("job_tasks as other")
            .select("other.id")
            .whereRef("other.job_id", "=", "task.job_id")
            .where((other) =>
              other.or([
                other("other.settled_at", "is", null),
                other("other.settled_at", ">=", before),
              ]),
            ),
        ),
      ),
    )
    .limit(limit)
    .execute();

/** Forgets a job, its tasks, and what happened to them. */
export async function dropJob(db: Connection, jobId: number): Promise<void> {
  const ids = db.selectFrom("job_tasks").select("id").where("job_id", "=", jobId);
  await db
    .deleteFrom("events")
    .where("noun", "=", "managed_job")
    .where("subject_id", "in", ids)
    .execute();
  const dropped = await db
    .deleteFrom("job_tasks")
    .where("job_id", "=", jobId)
    .returning(["user_id", "workspace", "status", "number"])
    .execute();
  for (const { status, number, ...of } of dropped)
    await countTasks(db, of, status, amountOf({ number }, -1));
  const { request_id: requestId } = await db
    .deleteFrom("managed_jobs")
    .where("id", "=", jobId)
    .returning("request_id")
    .executeTakeFirstOrThrow();
  await dropDocument(db, requestId);
}

const selectTasks = (db: Queries) =>
  db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .selectAll("job_tasks")
    .select([
      ...(["user_name", "command", "priority", "submitted_at", "pool"] as const),
      ...(["execution", "rank", "copies"] as const),
      ...(["root_id", "root_number", "parent_id", "parent_number"] as const),
    ]);

type Row = Selectable<Tables["job_tasks"]> &
  Omit<Selectable<Tables["managed_jobs"]>, "id" | "name" | "request_id">;

const toTask = (row: Row): JobTask => ({
  ...tasks.toItem(row),
  job: {
    id: row.job_id,
    name: row.job_name,
    execution: row.execution,
    rank: row.rank,
    copies: row.copies,
    joined: toMembership(row),
    user: { id: row.user_id, name: row.user_name },
    workspace: row.workspace,
    pool: row.pool,
    command: row.command,
    priority: row.priority,
    submittedAt: row.submitted_at,
  },
});

const toMembership = (row: Row): Membership | null =>
  row.root_id === null || row.root_number === null
    ? null
    : {
        rootId: row.root_id,
        number: row.root_number,
        parentId: row.parent_id ?? row.root_id,
        parentNumber: row.parent_number,
      };
