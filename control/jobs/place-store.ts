import { sql } from "kysely";
import type { Connection, Queries } from "../db/open.ts";
import type { JobTask } from "./schema.ts";

/** What a task can wait for behind others: a place among the jobs under way, or among the launches. */
export type Queued = Exclude<JobTask["queuedFor"], "turn" | null>;

/** How many jobs have begun and are not over. */
export async function countBegun(db: Queries): Promise<number> {
  const row = await db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.count<number>("job_id").distinct().as("jobs"))
    .where("begun_at", "is not", null)
    .executeTakeFirstOrThrow();
  return row.jobs;
}

/** Whether a job is one of them. */
export async function hasBegun(db: Queries, jobId: number): Promise<boolean> {
  const row = await db
    .selectFrom("job_tasks")
    .select("id")
    .where("job_id", "=", jobId)
    .where("begun_at", "is not", null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Has no task of a job wait any more for its job to begin; answers which did. */
export async function freeOthers(db: Connection, jobId: number): Promise<string[]> {
  const freed = await db
    .updateTable("job_tasks")
    .set({ queued_for: null, queued_rank: null })
    .where("job_id", "=", jobId)
    .where("queued_for", "=", "job")
    .returning("id")
    .execute();
  return freed.map(({ id }) => id);
}

/** How many tasks are being launched. */
export async function countLaunching(db: Queries): Promise<number> {
  const row = await db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.countAll<number>().as("tasks"))
    .where("launching_at", "is not", null)
    .executeTakeFirstOrThrow();
  return row.tasks;
}

/** Where a task stands in the queues: the highest priority first, then the oldest. */
export const rankOf = ({ job }: Pick<JobTask, "job">): number => -job.priority;

/** How many tasks are queued ahead of one; at most `most`. */
export async function countAhead(
  db: Connection,
  queue: Queued,
  task: Pick<JobTask, "job" | "number">,
  most: number,
): Promise<number> {
  const place = sql`(${rankOf(task)}, ${task.job.id}, ${task.number})`;
  const ahead = await db
    .selectFrom("job_tasks")
    .select("id")
    .where("queued_for", "=", queue)
    .where(sql<boolean>`(queued_rank, job_id, number) < ${place}`)
    .limit(most)
    .execute();
  return ahead.length;
}

/** The task whose turn it is in a queue; undefined where that is empty. */
export async function findFirst(db: Queries, queue: Queued): Promise<string | undefined> {
  const row = await db
    .selectFrom("job_tasks")
    .select("id")
    .where("queued_for", "=", queue)
    .orderBy("queued_rank")
    .orderBy("job_id")
    .orderBy("number")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}
