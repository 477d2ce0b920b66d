import type { Seal } from "../../common/seal.ts";
import type { Connection, Queries } from "../db/open.ts";
import { countTasks } from "./counts.ts";
import { type JobDocument, type JobTask, type ManagedJob, waitForWorker } from "./schema.ts";

/** A job as a launch submits it, in one copy or several. */
export interface NewJob extends Omit<ManagedJob, "id" | "rank"> {
  readonly requestId: string;
  readonly document: JobDocument;
  readonly reason: string;
}

/** A task of it. */
export type NewTask = Pick<
  JobTask,
  "name" | "resources" | "isPrimary" | "delayMs" | "poolId" | "share" | "calledBack"
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

async function addCopy(
  db: Connection,
  { requestId, document: _, user, submittedAt, reason, joined, ...job }: NewJob & { rank: number },
  tasks: readonly NewTask[],
  newId: () => string,
): Promise<number> {
  const { workspace } = job;
  const { id } = await db
    .insertInto("managed_jobs")
    .values({
      ...job,
      request_id: requestId,
      ...{ root_id: joined?.rootId ?? null, root_number: joined?.number ?? null },
      ...{ parent_id: joined?.parentId ?? null, parent_number: joined?.parentNumber ?? null },
      user_id: user.id,
      user_name: user.name,
      submitted_at: submittedAt,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const of = { job_id: id, user_id: user.id, workspace, status: "PENDING" as const };
  await db
    .insertInto("job_tasks")
    .values(
      tasks.map(({ isPrimary, delayMs, poolId, share, calledBack, ...task }, number) => ({
        ...{ id: newId(), ...task, ...of, ...untried, number, reason },
        ...{ pool_id: poolId, share: share && JSON.stringify(share) },
        // Of a pipeline only the first need not wait for another one.
        ...(poolId !== null && number === 0 && queuedSince(job, submittedAt)),
        ...{ is_primary: Number(isPrimary), delay_ms: delayMs, called_back: calledBack },
        ...{ wanted_because: reason, wanted_by: user.name },
        status_changed_at: submittedAt,
      })),
    )
    .execute();
  return id;
}

const queuedSince = (job: Pick<ManagedJob, "pool">, at: number) => ({
  queued_at: at,
  waits_for: waitForWorker(job),
});

const untried = {
  ...{ wanted: "DONE" as const, waits_for: null, attempt: 0, cluster_name: "" },
  ...{ recoveries: 0, restarts: 0, failures: 0, ran_ms: 0 },
};

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
  const { document, blob_id: blobId } = await db
    .selectFrom("managed_jobs")
    .innerJoin("job_documents", "job_documents.request_id", "managed_jobs.request_id")
    .select(["document", "blob_id"])
    .where("id", "=", jobId)
    .executeTakeFirstOrThrow();
  return { yaml: seal.open(document), blobId };
}

/** Forgets what a launch submitted, once none of its jobs is left. */
export const dropDocument = (db: Connection, requestId: string) =>
  db
    .deleteFrom("job_documents")
    .where("request_id", "=", requestId)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("managed_jobs").select("id").where("request_id", "=", requestId))),
    )
    .execute();
