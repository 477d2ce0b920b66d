import type { Selectable } from "kysely";
import type { Seal } from "../../common/seal.ts";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";
import { countTask } from "./counts.ts";
import type { JobDocument, JobTask, ManagedJob, TaskChange } from "./schema.ts";

/** A job as a launch submits it. */
export interface NewJob extends Omit<ManagedJob, "id"> {
  readonly requestId: string;
  readonly document: JobDocument;
  readonly reason: string;
}

/** A task of it. */
export type NewTask = Pick<JobTask, "id" | "name" | "resources">;

/** Writes a new job with its tasks; answers its number. */
export async function addJob(
  db: Connection,
  seal: Seal,
  { requestId, document, user, submittedAt, reason, ...job }: NewJob,
  tasks: readonly NewTask[],
): Promise<number> {
  const { workspace } = job;
  const { id } = await db
    .insertInto("managed_jobs")
    .values({
      ...job,
      request_id: requestId,
      user_id: user.id,
      user_name: user.name,
      document: seal.seal(JSON.stringify(document)),
      submitted_at: submittedAt,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const of = { job_id: id, user_id: user.id, workspace, status: "PENDING" as const };
  for (const [number, task] of tasks.entries()) {
    await db
      .insertInto("job_tasks")
      .values({
        ...{ ...task, ...of, ...untried, number, reason },
        ...{ wanted_because: reason, wanted_by: user.name },
        status_changed_at: submittedAt,
      })
      .execute();
    await countTask(db, { user_id: user.id, workspace }, "PENDING", 1);
  }
  return id;
}

const untried = {
  ...{ wanted: "DONE" as const, waits_for: null, attempt: 0, cluster_name: "" },
  ...{ recoveries: 0, restarts: 0, failures: 0, ran_ms: 0 },
};

/** The number of the job that a launch has submitted; undefined where it has not. */
export async function findSubmitted(db: Queries, requestId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("managed_jobs")
    .select("id")
    .where("request_id", "=", requestId)
    .executeTakeFirst();
  return row?.id;
}

/** The task with this id. */
export async function findTask(db: Queries, id: string): Promise<JobTask | undefined> {
  const row = await selectTasks(db).where("job_tasks.id", "=", id).executeTakeFirst();
  return row && toTask(row);
}

/** The tasks of jobs, by job and number. */
export async function listTasks(db: Queries, jobIds: readonly number[]): Promise<JobTask[]> {
  const rows = await selectTasks(db)
    .where("job_id", "in", among(jobIds))
    .orderBy("job_id")
    .orderBy("number")
    .execute();
  return rows.map(toTask);
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

/** Tasks that have something left: they have not ended, or their last cluster is not gone. */
export const listUnsettled = (db: Queries) =>
  db
    .selectFrom("job_tasks")
    .select(["id", "status", "waits_for", "cluster_id"])
    .where("settled_at", "is", null)
    .execute();

/** Writes what changed of a task. */
export async function setTask(db: Connection, id: string, change: TaskChange): Promise<void> {
  const set = Object.entries(change).map(([name, value]) => [columnOf(name), value]);
  if (set.length === 0) return;
  await db.updateTable("job_tasks").set(Object.fromEntries(set)).where("id", "=", id).execute();
}

/** `clusterId` is `cluster_id`. */
const columnOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What a job runs, secrets included. */
export async function readDocumentOf(db: Queries, seal: Seal, jobId: number): Promise<JobDocument> {
  const { document } = await db
    .selectFrom("managed_jobs")
    .select("document")
    .where("id", "=", jobId)
    .executeTakeFirstOrThrow();
  return JSON.parse(seal.open(document));
}

/** The uploads that jobs need which have not ended: their next attempt begins with them. */
export async function listJobBlobs(db: Queries, seal: Seal): Promise<string[]> {
  const open = await db
    .selectFrom("job_tasks")
    .select("job_id")
    .where("settled_at", "is", null)
    .execute();
  const documents = [];
  for (const id of new Set(open.map(({ job_id }) => job_id)))
    documents.push(await readDocumentOf(db, seal, id));
  return documents.flatMap(({ blobId }) => blobId ?? []);
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
  const tasks = db.selectFrom("job_tasks").select("id").where("job_id", "=", jobId);
  await db
    .deleteFrom("events")
    .where("noun", "=", "managed_job")
    .where("subject_id", "in", tasks)
    .execute();
  const dropped = await db
    .deleteFrom("job_tasks")
    .where("job_id", "=", jobId)
    .returning(["user_id", "workspace", "status"])
    .execute();
  for (const { status, ...of } of dropped) await countTask(db, of, status, -1);
  await db.deleteFrom("managed_jobs").where("id", "=", jobId).execute();
}

const selectTasks = (db: Queries) =>
  db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .selectAll("job_tasks")
    .select([
      "managed_jobs.name as job_name",
      ...(["user_name", "command", "priority", "submitted_at"] as const),
    ]);

type Row = Selectable<Tables["job_tasks"]> & {
  job_name: string;
  user_name: string;
  command: string;
  priority: number;
  submitted_at: number;
};

const toTask = (row: Row): JobTask => ({
  id: row.id,
  job: {
    id: row.job_id,
    name: row.job_name,
    user: { id: row.user_id, name: row.user_name },
    workspace: row.workspace,
    command: row.command,
    priority: row.priority,
    submittedAt: row.submitted_at,
  },
  number: row.number,
  name: row.name,
  resources: row.resources,
  status: row.status,
  reason: row.reason,
  waitsFor: row.waits_for,
  wanted: row.wanted,
  wantedBecause: row.wanted_because,
  attempt: row.attempt,
  clusterId: row.cluster_id,
  clusterName: row.cluster_name,
  clusterJob: row.cluster_job,
  infra: row.infra,
  recoveries: row.recoveries,
  restarts: row.restarts,
  failures: row.failures,
  ranMs: row.ran_ms,
  runAt: row.run_at,
  startedAt: row.started_at,
  recoveredAt: row.recovered_at,
  endedAt: row.ended_at,
  settledAt: row.settled_at,
  statusChangedAt: row.status_changed_at,
});
