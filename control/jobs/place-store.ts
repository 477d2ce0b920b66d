import { sql } from "kysely";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";
import type { JobTask, ManagedJob } from "./schema.ts";

/** What a task can wait for behind others: a place among the jobs under way, or among the launches. */
export type Queued = Exclude<JobTask["queuedFor"], "turn" | null>;

/** How many jobs have begun and are not over. */
export async function countBegun(db: Queries): Promise<number> {
  const [row] = await selectBegun(db, {});
  return row?.jobs ?? 0;
}

const selectBegun = statement((db: Queries) =>
  db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.count<number>("job_id").distinct().as("jobs"))
    .where("begun_at", "is not", null),
);

/** What counts the tasks that have an instant. */
function countingOf(instant: "begun_at" | "launching_at"): (db: Queries) => Promise<number> {
  const select = statement((db: Queries) =>
    db
      .selectFrom("job_tasks")
      .select(({ fn }) => fn.countAll<number>().as("tasks"))
      .where(instant, "is not", null),
  );
  return async (db) => (await select(db, {}))[0]?.tasks ?? 0;
}

/** How many tasks have begun and are not over. */
export const countBegunTasks = countingOf("begun_at");

/** How many tasks are being launched. */
export const countLaunching = countingOf("launching_at");

/** Whether a task of a job has begun and is not over. */
export async function hasBegun(db: Queries, jobId: number): Promise<boolean> {
  const begun = await selectBegunOf(db, { jobId, most: 1 });
  return begun.length > 0;
}

const selectBegunOf = statement((db: Queries, { jobId, most }: { jobId: number; most: number }) =>
  db
    .selectFrom("job_tasks")
    .select("id")
    .where("job_id", "=", jobId)
    .where("begun_at", "is not", null)
    .limit(most),
);

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

/** Where the tasks of a job stand in the queues: the highest priority first, then the oldest. */
export const rankOf = ({ priority }: Pick<ManagedJob, "priority">): number => -priority;

/** A place in a queue. */
type Place = {
  readonly queue: Queued;
  readonly rank: number;
  readonly jobId: number;
  readonly number: number;
};

/** How many tasks are queued ahead of a place; at most `most`. */
export async function countAhead(db: Queries, place: Place, most: number): Promise<number> {
  const { queue, rank, jobId, number } = place;
  return (await selectAhead(db, { queue, rank, jobId, number, most })).length;
}

const selectAhead = statement((db: Queries, given: Place & { readonly most: number }) => {
  const { queue, rank, jobId, number, most } = given;
  return db
    .selectFrom("job_tasks")
    .select("id")
    .where("queued_for", "=", queue)
    .where(sql<boolean>`(queued_rank, job_id, number) < (${rank}, ${jobId}, ${number})`)
    .limit(most);
});

/** The tasks whose turn it is in a queue, at most so many. */
export async function listFirst(db: Queries, queue: Queued, most: number): Promise<string[]> {
  return (await selectFirst(db, { queue, most })).map(({ id }) => id);
}

const selectFirst = statement((db: Queries, { queue, most }: { queue: Queued; most: number }) =>
  db
    .selectFrom("job_tasks")
    .select("id")
    .where("queued_for", "=", queue)
    .orderBy("queued_rank")
    .orderBy("job_id")
    .orderBy("number")
    .limit(most),
);
