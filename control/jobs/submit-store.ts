import type { Selectable } from "kysely";
import type { Seal } from "../../common/seal.ts";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.ts";
import { addEvent } from "../events.ts";
import { countTasks } from "./counts.ts";
import { rankOf } from "./place-store.ts";
import {
  type JobDocument,
  type JobTask,
  type ManagedJob,
  type Room,
  type Waiting,
  waitForWorker,
} from "./schema.ts";

/** A job as a launch submits it, in one copy or several. */
export interface NewJob extends Omit<ManagedJob, "id" | "rank"> {
  readonly requestId: string;
  readonly document: JobDocument;
  readonly reason: string;
  readonly rooms: readonly Room[];
}

/** A task of it. */
export type NewTask = Pick<
  JobTask,
  "name" | "resources" | "isPrimary" | "delayMs" | "poolId" | "share" | "leaseMs" | "calledBack"
>;

/** Writes every copy of a new job with its tasks; answers their numbers. `newId` makes the ids of tasks. */
export async function addJobs(
  db: Connection,
  seal: Seal,
  job: NewJob,
  tasks: readonly NewTask[],
  newId: () => string,
): Promise<number[]> {
  const { requestId, document } = job;
  const sealed = seal.seal(document.yaml);
  await db
    .insertInto("job_documents")
    .values({ request_id: requestId, document: sealed, blob_id: document.blobId })
    .execute();
  const ids = [];
  for (let rank = 0; rank < job.copies; rank += 1)
    ids.push(await addCopy(db, { ...job, rank }, tasks, newId));
  const of = { user_id: job.user.id, workspace: job.workspace };
  const amount = { tasks: job.copies * tasks.length, jobs: job.copies };
  await countTasks(db, of, "PENDING", amount);
  return ids;
}

type Copy = NewJob & Pick<ManagedJob, "rank">;

async function addCopy(
  db: Connection,
  job: Copy,
  tasks: readonly NewTask[],
  newId: () => string,
): Promise<number> {
  const [added] = await insertJob(db, jobRow(job));
  if (added === undefined) throw new Error("a new job has no number");
  const { id: jobId } = added;
  for (const [number, task] of tasks.entries()) {
    const { waitsFor, queuedAt, queuedFor, queuedRank } = { ...free, ...waitOf(job, task, number) };
    const id = newId();
    await insertTask(db, {
      ...{ id, job_id: jobId, number, ...taskRow(job, task) },
      ...{ waits_for: waitsFor, queued_at: queuedAt },
      ...{ queued_for: queuedFor, queued_rank: queuedRank },
    });
    const event = { noun: "managed_job", id, at: new Date(job.submittedAt) };
    if (waitsFor !== null) await addEvent(db, { ...event, reason: waitsFor });
  }
  return jobId;
}

const free = { waitsFor: null, queuedAt: null, queuedFor: null, queuedRank: null };

/** What a new task waits for. Of a pipeline only the first need not wait for another one. */
function waitOf(
  job: Copy,
  { poolId }: NewTask,
  number: number,
): Partial<Waiting & Pick<JobTask, "queuedAt">> {
  if (job.execution === "serial" && number > 0) return {};
  if (poolId !== null)
    return { queuedAt: job.submittedAt, queuedRank: rankOf(job), waitsFor: waitForWorker(job) };
  return job.rooms.find(({ room }) => job.rank >= room)?.waiting ?? {};
}

const jobRow = ({ requestId, user, joined, ...job }: Copy) => ({
  ...{ request_id: requestId, rank: job.rank, copies: job.copies, name: job.name },
  ...{ execution: job.execution, pool: job.pool, priority: job.priority },
  ...{ root_id: joined?.rootId ?? null, root_number: joined?.number ?? null },
  ...{ parent_id: joined?.parentId ?? null, parent_number: joined?.parentNumber ?? null },
  ...{ user_id: user.id, user_name: user.name, workspace: job.workspace },
  ...{ command: job.command, submitted_at: job.submittedAt },
});

const insertJob = statement((db: Connection, row: ReturnType<typeof jobRow>) =>
  db.insertInto("managed_jobs").values(row).returning("id"),
);

const taskRow = (job: Copy, { name, resources, isPrimary, delayMs, ...task }: NewTask) => ({
  ...{ name, resources, is_primary: Number(isPrimary), delay_ms: delayMs },
  ...{ pool_id: task.poolId, share: task.share && JSON.stringify(task.share) },
  ...{ lease_ms: task.leaseMs, called_back: task.calledBack },
  ...{ job_name: job.name, user_id: job.user.id, workspace: job.workspace },
  ...{ status: "PENDING" as const, status_changed_at: job.submittedAt, reason: job.reason },
  ...{ wanted: "DONE" as const, wanted_because: job.reason, wanted_by: job.user.name },
  ...{ attempt: 0, cluster_name: "", recoveries: 0, restarts: 0, failures: 0, ran_ms: 0 },
});

type TaskRow = ReturnType<typeof taskRow> &
  Pick<
    Selectable<Tables["job_tasks"]>,
    "id" | "job_id" | "number" | "waits_for" | "queued_at" | "queued_for" | "queued_rank"
  >;

const insertTask = statement((db: Connection, row: TaskRow) =>
  db.insertInto("job_tasks").values(row),
);

/** What says who has to look at the tasks of new jobs. */
export const listNew = (db: Queries, jobIds: readonly number[]) =>
  db
    .selectFrom("job_tasks")
    .select(["id", "job_id", "pool_id", "queued_at", "queued_for", "called_back"])
    .where("job_id", "in", among(jobIds))
    .execute();

/** The numbers of the jobs that a launch has submitted; none where it has not. */
export async function listSubmitted(db: Queries, requestId: string): Promise<number[]> {
  const rows = await db
    .selectFrom("managed_jobs")
    .select("id")
    .where("request_id", "=", requestId)
    .orderBy("rank")
    .execute();
  return rows.map(({ id }) => id);
}

/** The number that the next job gets which joins a group of so many tasks. */
export async function nextMember(db: Queries, rootId: number, tasks: number): Promise<number> {
  const last = await db
    .selectFrom("managed_jobs")
    .select("root_number")
    .where("root_id", "=", rootId)
    .orderBy("root_number", "desc")
    .limit(1)
    .executeTakeFirst();
  return (last?.root_number ?? tasks - 1) + 1;
}

/** What a job runs, secrets included. */
export async function readDocumentOf(db: Queries, seal: Seal, jobId: number): Promise<JobDocument> {
  const [row] = await selectDocument(db, { jobId });
  if (row === undefined) throw new Error(`managed job ${jobId} has no document`);
  return { yaml: seal.open(row.document), blobId: row.blob_id };
}

const selectDocument = statement((db: Queries, { jobId }: { readonly jobId: number }) =>
  db
    .selectFrom("managed_jobs")
    .innerJoin("job_documents", "job_documents.request_id", "managed_jobs.request_id")
    .select(["document", "blob_id"])
    .where("id", "=", jobId),
);

/** Forgets what a launch submitted, once none of its jobs is left. */
export const dropDocument = (db: Connection, requestId: string) =>
  db
    .deleteFrom("job_documents")
    .where("request_id", "=", requestId)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("managed_jobs").select("id").where("request_id", "=", requestId))),
    )
    .execute();
