import { sql } from "kysely";
import type { Connection } from "./db/open.ts";
import { type Noun, tableOf } from "./nouns.ts";

/** What a row should be, and who or what says so, for people: `down by ann`. */
export interface Desire<Wanted extends string = string> {
  readonly wanted: Wanted;
  readonly because: string;
}

/**
 * Writes what is wanted of a row: the only writer of wishes, as `move` is of statuses. False, and
 * nothing is written, where the row has its final status. Whatever else forbids a wish is decided
 * before, in the same transaction, over a row that is held.
 */
export async function want(
  db: Connection,
  noun: Noun,
  id: string,
  { wanted, because }: Desire,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable(tableOf[noun])
    .set({ wanted: wanted as never, wanted_because: because })
    .where("id", "=", id)
    .where("status", "<>", "GONE")
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Holds a row until the transaction ends: nobody else writes it meanwhile. True while it is still
 * wanted to be what the caller saw.
 */
export async function hold(
  db: Connection,
  noun: Noun,
  { id, wanted }: { id: string; wanted: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable(tableOf[noun])
    .set({ wanted: sql.ref("wanted") })
    .where("id", "=", id)
    .where("wanted", "=", wanted as never)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
