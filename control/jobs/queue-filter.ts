import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { type ManagedJobStatus, managedJobMachine } from "../../contract/statuses.ts";
import { among } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { endOf, type Whose } from "./list-store.ts";

type Input = InputOf<typeof rows.queueV2>;

/** The jobs of a page, and how many there are. */
export interface Found {
  readonly ids: readonly number[];
  /** Jobs that fit all filters. */
  readonly total: number;
  /** Tasks by status, before the filter by that. */
  readonly counts: ReadonlyMap<ManagedJobStatus, number>;
}

type Key = RawBuilder<string | number>;

const column = (name: string): (() => Key) => {
  const key = sql.ref<string | number>(name);
  return () => key;
};
const orElse = (name: string, other: string | number): (() => Key) => {
  const key = sql<string | number>`coalesce(${sql.ref(name)}, ${sql.lit(other)})`;
  return () => key;
};

/** What jobs can be sorted by: the first of their tasks in the order counts. */
const sortKeys: Readonly<Record<string, (nowMs: number) => Key>> = {
  job_id: column("job_id"),
  job_name: column("managed_jobs.name"),
  submitted_at: column("managed_jobs.submitted_at"),
  status: column("job_tasks.status"),
  user_name: column("managed_jobs.user_name"),
  workspace: column("managed_jobs.workspace"),
  infra: orElse("infra", ""),
  recovery_count: column("recoveries"),
  start_at: orElse("started_at", 0),
  end_at: orElse("ended_at", 0),
  job_duration: (nowMs) => sql`ran_ms + coalesce(${nowMs} - run_at, 0)`,
};
export const sortNames = Object.keys(sortKeys);
export const isSortable = (name: string): boolean => Object.hasOwn(sortKeys, name);

/** Numbers in a stretch, so that a read takes a few milliseconds. */
const stretchIds = 5_000;

/**
 * Looks at every job for those that fit, where no index knows them: in the database, a stretch of numbers at a
 * time. Between stretches others have their turn. `isEachAlone` says that no job has more than one task.
 */
export async function chooseJobs(
  ctx: Ground,
  input: Input,
  whose: Whose,
  statuses: readonly ManagedJobStatus[] | null,
  isEachAlone: boolean,
): Promise<Found> {
  const { page, limit } = input;
  const from = ((page ?? 1) - 1) * (limit ?? 0);
  const sorting = sortingOf(input, limit === null ? -1 : from + limit, ctx.now().getTime());
  const counts = new Map<ManagedJobStatus, number>();
  const found: Keyed[] = [];
  let total = 0;
  for await (const stretch of stretchesOf(ctx.db, input.job_ids, sorting.order)) {
    const fits = sql.join<SqlBool>([stretch, ...filtersOf(input, whose)], sql` and `);
    const amounts = await countTasks(ctx.db, fits);
    for (const { status, tasks } of amounts) counts.set(status, (counts.get(status) ?? 0) + tasks);
    const wanted = amounts.filter(({ status }) => statuses?.includes(status) ?? true);
    if (wanted.length === 0) continue;
    const isOne = among(wanted.map(({ status }) => status));
    const areWanted = sql<SqlBool>`${fits} and job_tasks.status in ${isOne}`;
    total += isEachAlone
      ? wanted.reduce((sum, { tasks }) => sum + tasks, 0)
      : await countJobs(ctx.db, areWanted);
    const isFull = sorting.isById && limit !== null && found.length >= sorting.most;
    if (!isFull) found.push(...(await firstOf(ctx.db, areWanted, sorting)));
  }
  const ids = sorted(found, sorting.order);
  return { ids: ids.slice(from, limit === null ? undefined : from + limit), total, counts };
}

/** Conditions that together take in every job, or those with these numbers, in the order of these. */
async function* stretchesOf(
  db: Queries,
  ids: readonly number[] | null,
  order: "asc" | "desc",
): AsyncGenerator<RawBuilder<SqlBool>> {
  if (ids !== null) return yield sql`job_id in ${among(ids)}`;
  const [first, last] = [await endOf(db, "asc"), await endOf(db, "desc")];
  if (last === 0) return;
  const starts = Array.from(
    { length: Math.ceil((last - first + 1) / stretchIds) },
    (_, at) => first + at * stretchIds,
  );
  for (const start of order === "asc" ? starts : starts.reverse()) {
    yield sql`job_id >= ${start} and job_id < ${start + stretchIds}`;
    await nextTurn();
  }
}

function filtersOf(input: Input, { userId, workspaces }: Whose): RawBuilder<SqlBool>[] {
  const { submitted_after: after, submitted_before: before } = input;
  const submittedAt = sql`managed_jobs.submitted_at / 1000.0`;
  return [
    userId !== undefined && sql<SqlBool>`job_tasks.user_id = ${userId}`,
    workspaces !== null && sql<SqlBool>`job_tasks.workspace in ${among(workspaces)}`,
    has("managed_jobs.name", input.name_match),
    has("managed_jobs.user_name", input.user_match),
    has("managed_jobs.workspace", input.workspace_match),
    has("infra", input.infra_match),
    has("managed_jobs.pool", input.pool_match),
    after !== null && sql<SqlBool>`${submittedAt} >= ${after}`,
    before !== null && sql<SqlBool>`${submittedAt} <= ${before}`,
  ].filter((filter) => filter !== false);
}

/**
 * Whether a text has this part, whatever the case of its ASCII letters; nothing is no filter. Put together in the
 * statement, since SQLite plans a bare `LIKE ?` anew each time that it runs.
 */
const has = (name: string, part: string | null) =>
  !!part &&
  sql<SqlBool>`${sql.ref(name)} like '%' || ${part.replace(/[!%_]/g, "!$&")} || '%' escape '!'`;

const tasksThat = (db: Queries, fit: RawBuilder<SqlBool>) =>
  db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .where(fit);

/** An index has statuses and jobs, and nothing else: it is read alone if statuses are named, and nothing else is. */
const countTasks = (db: Queries, fit: RawBuilder<SqlBool>) =>
  tasksThat(db, fit)
    .select(({ fn }) => ["job_tasks.status", fn.countAll<number>().as("tasks")])
    .where("job_tasks.status", "in", among(managedJobMachine.names))
    .groupBy("job_tasks.status")
    .execute();

/** How many jobs these tasks are of. */
async function countJobs(db: Queries, fit: RawBuilder<SqlBool>): Promise<number> {
  const { jobs } = await tasksThat(db, fit)
    .select(({ fn }) => fn.count<number>("job_id").distinct().as("jobs"))
    .executeTakeFirstOrThrow();
  return jobs;
}

interface Sorting {
  readonly key: Key;
  readonly isById: boolean;
  readonly order: "asc" | "desc";
  /** How many jobs are needed; -1 is all. */
  readonly most: number;
}

function sortingOf({ sort_by, sort_order }: Input, most: number, nowMs: number): Sorting {
  const by = sort_by ?? "job_id";
  return {
    key: (sortKeys[by] ?? column("job_id"))(nowMs),
    isById: by === "job_id",
    order: sort_order === "asc" ? "asc" : "desc",
    most,
  };
}

type Keyed = Awaited<ReturnType<typeof firstOf>>[number];

const firstOf = (db: Queries, fit: RawBuilder<SqlBool>, { key, order, most }: Sorting) =>
  tasksThat(db, fit)
    .select([
      "job_id",
      sql<string | number>`${sql.raw(order === "asc" ? "min" : "max")}(${key})`.as("key"),
    ])
    .groupBy("job_id")
    .orderBy("key", order)
    .orderBy("job_id", order)
    .limit(most)
    .execute();

function sorted(jobs: Keyed[], order: "asc" | "desc"): number[] {
  const sign = order === "asc" ? 1 : -1;
  jobs.sort((a, b) => sign * (compare(a.key, b.key) || a.job_id - b.job_id));
  return jobs.map(({ job_id }) => job_id);
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);
