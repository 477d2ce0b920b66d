import type { ManagedJobStatus } from "../../../contract/statuses.ts";
import type { Queries } from "../../db/open.ts";

/** A change of a task's status. */
export interface Move {
  readonly seq: number;
  readonly from: ManagedJobStatus;
  readonly to: ManagedJobStatus;
}

/** The change of a task after an event; undefined where there was none yet. */
export async function findNextMove(
  db: Queries,
  id: string,
  after: number,
): Promise<Move | undefined> {
  const row = await db
    .selectFrom("events")
    .select(["seq", "from_status", "to_status"])
    .where("noun", "=", "managed_job")
    .where("subject_id", "=", id)
    .where("to_status", "is not", null)
    .where("seq", ">", after)
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
  return (
    row && {
      seq: row.seq,
      from: row.from_status as ManagedJobStatus,
      to: row.to_status as ManagedJobStatus,
    }
  );
}

/** The jobs whose callbacks may have something to be told. */
export async function listToTell(db: Queries): Promise<number[]> {
  const rows = await db
    .selectFrom("job_tasks")
    .select("job_id")
    .distinct()
    .where("called_back", "is not", null)
    .execute();
  return rows.map(({ job_id }) => job_id);
}
