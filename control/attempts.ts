import type { Connection, Queries } from "./db/open.ts";
import { named, rowsOf } from "./db/rows.ts";
import { statement } from "./db/statement.ts";

/** A row whose last pass failed. Instants are epoch milliseconds. */
export interface Attempt {
  readonly id: string;
  /** How many passes have failed one after another. */
  readonly failures: number;
  readonly reason: string;
  readonly failedAt: number;
  /** When the next pass is due. */
  readonly dueAt: number;
}

const attempts = rowsOf<Attempt>()("attempts", ["failures", "reason", "failedAt", "dueAt"], {
  id: named("subject_id"),
});

/** Keeps that a pass over a row has failed, in place of what was kept of the one before. */
export async function keepAttempt(db: Connection, noun: string, attempt: Attempt): Promise<void> {
  const values = attempts.toRow(attempt);
  await db
    .insertInto("attempts")
    .values({ ...values, noun })
    .onConflict((conflict) => conflict.columns(["noun", "subject_id"]).doUpdateSet(values))
    .execute();
}

/** Forgets that passes over a row have failed. */
export async function forgetAttempt(db: Connection, noun: string, id: string): Promise<void> {
  await db.deleteFrom("attempts").where("noun", "=", noun).where("subject_id", "=", id).execute();
}

/** The rows of a noun whose last pass failed. */
export async function listAttempts(db: Queries, noun: string): Promise<Attempt[]> {
  return (await selectAttempts(db, { noun })).map(attempts.toItem);
}

const selectAttempts = statement((db: Queries, { noun }: { readonly noun: string }) =>
  db.selectFrom("attempts").selectAll().where("noun", "=", noun),
);

/** How the last pass over a row failed; undefined where it did not. */
export async function findAttempt(
  db: Queries,
  noun: string,
  id: string,
): Promise<Attempt | undefined> {
  const row = await db
    .selectFrom("attempts")
    .selectAll()
    .where("noun", "=", noun)
    .where("subject_id", "=", id)
    .executeTakeFirst();
  return row && attempts.toItem(row);
}
