import { setImmediate as nextTurn } from "node:timers/promises";
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { type ManagedJobStatus, managedJobMachine } from "../../contract/statuses.ts";
import { among } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { type Counts, isEachAlone, sumOf } from "./counts.ts";
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
  job_name: column("job_name"),
  submitted_at: column("submitted_at"),
  status: column("job_tasks.status"),
  user_name: column("user_name"),
  workspace: column("job_tasks.workspace"),
  infra: orElse("infra", ""),
  recovery_count: column("recoveries"),
  start_at: orElse("started_at", 0),
  end_at: orElse("ended_at", 0),
  job_duration: (nowMs) => sql`ran_ms + coalesce(${nowMs} - run_at, 0)`,
};
export const sortNames = Object.keys(sortKeys);
export const isSortable = (name: string): boolean => Object.hasOwn(sortKeys, name);

/** Numbers in a stretch, so that a read takes a few milliseconds. */
const stretchIds = 10_000;

/**
 * Looks at every job for those that fit, where no index knows them: in the database, a stretch of numbers at a
 * time. Between stretches others have their turn. `all` counts what `whose` takes in.
 */
export async function chooseJobs(
  ctx: Ground,
  input: Input,
  whose: Whose,
  statuses: readonly ManagedJobStatus[] | null,
  all: Counts,
): Promise<Found> {
  const { page, limit } = input;
  const from = ((page ?? 1) - 1) * (limit ?? 0);
  const sorting = sortingOf(input, limit === null ? -1 : from + limit, ctx.now().getTime());
  const tasks = tasksOf(ctx.db, input);
  const filters = filtersOf(input, whose, all);
  const counts = new Map<ManagedJobStatus, number>();
  let found: Keyed[] = [];
  let total = 0;
  for await (const stretch of stretchesOf(ctx.db, input.job_ids, sorting.order)) {
    const fits = sql.join<SqlBool>([stretch, ...filters], sql` and `);
    const amounts = await countTasks(tasks(fits));
    for (const { status, tasks } of amounts) counts.set(status, (counts.get(status) ?? 0) + tasks);
    const wanted = amounts.filter(({ status }) => statuses?.includes(status) ?? true);
    if (wanted.length === 0) continue;
    const isOne = among(wanted.map(({ status }) => status));
    const areWanted = sql<SqlBool>`${fits} and status in ${isOne}`;
    total += isEachAlone(all)
      ? sumOf(wanted.map((one) => one.tasks))
      : await countJobs(tasks(areWanted));
    found = await withBetter(tasks, areWanted, sorting, isEachAlone(all), found);
  }
  const ids = found.map(({ job_id }) => job_id);
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

function filtersOf(
  input: Input,
  { userId, workspaces }: Whose,
  { jobs }: Counts,
): RawBuilder<SqlBool>[] {
  const { submitted_after: after, submitted_before: before } = input;
  // An index has the jobs of each user; to look up so many is slower than to read the other index from end to end.
  const user = sql.raw(jobs > stretchIds ? "+job_tasks.user_id" : "job_tasks.user_id");
  const submittedAt = sql`submitted_at / 1000.0`;
  return [
    userId !== undefined && sql<SqlBool>`${user} = ${userId}`,
    workspaces !== null && sql<SqlBool>`job_tasks.workspace in ${among(workspaces)}`,
    has("job_name", input.name_match),
    has("user_name", input.user_match),
    has("job_tasks.workspace", input.workspace_match),
    has("infra", input.infra_match),
    has("pool", input.pool_match),
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

/** Reads tasks that fit; their jobs too only where something is asked of these. */
function tasksOf(db: Queries, input: Input) {
  const { user_match, pool_match, submitted_after, submitted_before, sort_by } = input;
  const isOfJobs =
    [user_match, pool_match, submitted_after, submitted_before].some((asked) => asked !== null) ||
    ["submitted_at", "user_name"].includes(sort_by ?? "");
  return (fit: RawBuilder<SqlBool>) =>
    db
      .selectFrom("job_tasks")
      .$if(isOfJobs, (tasks) =>
        tasks.innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id"),
      )
      .where(fit);
}

type Tasks = ReturnType<ReturnType<typeof tasksOf>>;

/** An index has the status of tasks, and the names, users and workspaces of jobs; it is used if statuses are named. */
const countTasks = (tasks: Tasks) =>
  tasks
    .select(({ fn }) => ["status", fn.countAll<number>().as("tasks")])
    .where("status", "in", among(managedJobMachine.names))
    .groupBy("status")
    .execute();

/** How many jobs these tasks are of. */
async function countJobs(tasks: Tasks): Promise<number> {
  const { jobs } = await tasks
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

interface Keyed {
  readonly job_id: number;
  readonly key: string | number;
}

/** The first jobs of these and of those that fit, in order; the latter come from stretches behind those of these. */
async function withBetter(
  tasks: ReturnType<typeof tasksOf>,
  fit: RawBuilder<SqlBool>,
  { key, isById, order, most }: Sorting,
  isEachAlone: boolean,
  found: Keyed[],
): Promise<Keyed[]> {
  const last = found[most - 1];
  if (last !== undefined && isById) return found;
  const [sign, isBefore, first] = order === "asc" ? [1, "<", "min"] : [-1, ">", "max"];
  const isBetter = last && sql<SqlBool>`${key} ${sql.raw(isBefore)} ${last.key}`;
  const query = tasks(isBetter ? sql`${fit} and ${isBetter}` : fit);
  const best = isById || isEachAlone ? key : sql<string | number>`${sql.raw(first)}(${key})`;
  const jobs = query
    .select(["job_id", best.as("key")])
    .$if(!isEachAlone, (each) => each.groupBy("job_id"));
  const more = await jobs.orderBy("key", order).orderBy("job_id", order).limit(most).execute();
  const all = [...found, ...more];
  all.sort((a, b) => sign * (compare(a.key, b.key) || a.job_id - b.job_id));
  return most < 0 ? all : all.slice(0, most);
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);
