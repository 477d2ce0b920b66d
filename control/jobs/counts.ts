import type { ManagedJobStatus } from "../../contract/statuses.ts";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";
import { statement } from "../db/statement.ts";

/** How many tasks there are, kept as they change. */

type Of = {
  readonly user_id: string;
  readonly workspace: string;
};

/** How many tasks, and how many of them are the first of their job: of that, jobs are counted. */
type Amount = {
  readonly tasks: number;
  readonly jobs: number;
};

/** What one task counts. */
export const amountOf = ({ number }: { readonly number: number }, by: 1 | -1): Amount => ({
  tasks: by,
  jobs: number === 0 ? by : 0,
});

/** Notes that a task has another status. */
export async function moveCount(
  db: Connection,
  { user_id, workspace }: Of,
  from: ManagedJobStatus,
  to: ManagedJobStatus,
  { tasks, jobs }: Amount,
): Promise<void> {
  const fewer = { user: user_id, of: workspace, from, less: -tasks, lessJobs: -jobs };
  await addBoth(db, { ...fewer, user_id, workspace, status: to, tasks, jobs });
}

/** Notes that there are more or fewer tasks of a status. */
export async function countTasks(
  db: Connection,
  { user_id, workspace }: Of,
  status: ManagedJobStatus,
  { tasks, jobs }: Amount,
): Promise<void> {
  await add(db, { user_id, workspace, status, tasks, jobs });
}

type Row = Of & Amount & { readonly status: ManagedJobStatus };

const add = statement((db: Connection, row: Row) => addRows(db, [row]));

type Both = Row & {
  readonly user: string;
  readonly of: string;
  readonly from: ManagedJobStatus;
  readonly less: number;
  readonly lessJobs: number;
};

const addBoth = statement((db: Connection, { user, of, from, less, lessJobs, ...row }: Both) =>
  addRows(db, [{ user_id: user, workspace: of, status: from, tasks: less, jobs: lessJobs }, row]),
);

const addRows = (db: Connection, rows: readonly Row[]) =>
  db
    .insertInto("job_task_counts")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["user_id", "workspace", "status"]).doUpdateSet(({ eb, ref }) => ({
        tasks: eb("job_task_counts.tasks", "+", ref("excluded.tasks")),
        jobs: eb("job_task_counts.jobs", "+", ref("excluded.jobs")),
      })),
    );

/** How many jobs there are, and how many tasks of each status. */
export interface Counts {
  readonly jobs: number;
  readonly tasks: ReadonlyMap<ManagedJobStatus, number>;
}

/** The counts of a user, or of any, in these workspaces; null is all. */
export async function readCounts(
  db: Queries,
  userId: string | undefined,
  workspaces: readonly string[] | null,
): Promise<Counts> {
  let query = db.selectFrom("job_task_counts").select(["status", "tasks", "jobs"]);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  const counted = new Map<ManagedJobStatus, number>();
  let all = 0;
  for (const { status, tasks, jobs } of await query.execute()) {
    all += jobs;
    if (tasks > 0) counted.set(status, (counted.get(status) ?? 0) + tasks);
  }
  return { jobs: all, tasks: counted };
}

/** Whether no job has more than one task. */
export const isEachAlone = ({ jobs, tasks }: Counts): boolean => sumOf(tasks.values()) === jobs;

export const sumOf = (counts: Iterable<number>): number =>
  [...counts].reduce((sum, one) => sum + one, 0);
