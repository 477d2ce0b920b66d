import type { ExpressionBuilder } from "kysely";
import type { Seal } from "../../common/seal.ts";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import { among } from "../db/lists.ts";
import type { Queries } from "../db/open.ts";
import type { Tables } from "../db/tables.ts";

/** Whose jobs are listed. */
export interface Whose {
  /** Undefined is anybody's. */
  readonly userId: string | undefined;
  /** Null is any. */
  readonly workspaces: readonly string[] | null;
}

interface Page extends Whose {
  /** Null is any. */
  readonly statuses: readonly ManagedJobStatus[] | null;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
}

/** The numbers of the jobs of a page, read from indexes alone. */
export async function listPage(
  db: Queries,
  { userId, workspaces, statuses, order, limit, offset }: Page,
): Promise<number[]> {
  let query = db.selectFrom("job_tasks").select("job_id").where("job_id", ">", 0);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  if (statuses !== null) query = query.where(isOneOf(statuses));
  const rows = await query
    .groupBy("job_id")
    .orderBy("job_id", order)
    .limit(limit)
    .offset(offset)
    .execute();
  return rows.map(({ job_id }) => job_id);
}

/** Tasks of one status lie in the order of their jobs in an index; those of several would have to be sorted. */
const isOneOf =
  (statuses: readonly ManagedJobStatus[]) => (task: ExpressionBuilder<Tables, "job_tasks">) => {
    const [first] = statuses;
    return first !== undefined && statuses.length === 1
      ? task("status", "=", first)
      : task("status", "in", among(statuses));
  };

/** How many jobs have a task with one of these statuses. */
export async function countJobs(
  db: Queries,
  { userId, workspaces, statuses }: Whose & { readonly statuses: readonly ManagedJobStatus[] },
): Promise<number> {
  let query = db
    .selectFrom("job_tasks")
    .select(({ fn }) => fn.count<number>("job_id").distinct().as("jobs"))
    .where(isOneOf(statuses));
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  return Number((await query.executeTakeFirstOrThrow()).jobs);
}

/** The numbers of jobs of which something is left. */
export async function listOpenIds(db: Queries, { userId, workspaces }: Whose): Promise<number[]> {
  let query = db.selectFrom("job_tasks").select("job_id").where("settled_at", "is", null);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  const rows = await query.groupBy("job_id").orderBy("job_id").execute();
  return rows.map(({ job_id }) => job_id);
}

/** The lowest or the highest number; 0 where there is none. */
export async function endOf(db: Queries, order: "asc" | "desc"): Promise<number> {
  const row = await db
    .selectFrom("job_tasks")
    .select("job_id")
    .where("job_id", ">", 0)
    .orderBy("job_id", order)
    .limit(1)
    .executeTakeFirst();
  return row?.job_id ?? 0;
}

/** What the launches submitted whose jobs have something left, with the first of these jobs. */
export async function listUnsettledDocuments(db: Queries, seal: Seal) {
  const rows = await db
    .selectFrom("job_tasks")
    .innerJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .innerJoin("job_documents", "job_documents.request_id", "managed_jobs.request_id")
    .select(({ fn }) => [fn.min("managed_jobs.id").as("id"), "managed_jobs.name", "document"])
    .where("settled_at", "is", null)
    .groupBy("managed_jobs.request_id")
    .execute();
  return rows.map(({ id, name, document }) => ({ id, name, yaml: seal.open(document) }));
}
