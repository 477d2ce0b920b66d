import type { ManagedJobStatus } from "../../contract/statuses.ts";
import { among } from "../db/lists.ts";
import type { Connection, Queries } from "../db/open.ts";

/** How many tasks there are, kept as they change. */

interface Of {
  readonly user_id: string;
  readonly workspace: string;
}

/** Notes that there are more or fewer tasks of a status. */
export async function countTasks(
  db: Connection,
  { user_id, workspace }: Of,
  status: ManagedJobStatus,
  by: number,
): Promise<void> {
  await db
    .insertInto("job_task_counts")
    .values({ user_id, workspace, status, tasks: by })
    .onConflict((conflict) =>
      conflict
        .columns(["user_id", "workspace", "status"])
        .doUpdateSet(({ eb }) => ({ tasks: eb("job_task_counts.tasks", "+", by) })),
    )
    .execute();
}

/** How many tasks of each status there are of a user, or of any, in these workspaces; null is all. */
export async function readCounts(
  db: Queries,
  userId: string | undefined,
  workspaces: readonly string[] | null,
): Promise<Map<ManagedJobStatus, number>> {
  let query = db.selectFrom("job_task_counts").select(["status", "tasks"]);
  if (userId !== undefined) query = query.where("user_id", "=", userId);
  if (workspaces !== null) query = query.where("workspace", "in", among(workspaces));
  const counts = new Map<ManagedJobStatus, number>();
  for (const { status, tasks } of await query.execute())
    if (tasks > 0) counts.set(status, (counts.get(status) ?? 0) + tasks);
  return counts;
}
