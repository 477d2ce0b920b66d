import { sql } from "kysely";
import type { Connection } from "./db/open.ts";
import { type Noun, tableOf } from "./nouns.ts";
import type { User } from "./requests/schema.ts";

/** Who or what says what a row should be. */
export interface Cause {
  /** For people: `down by ann`. */
  readonly because: string;
  /** The user on whose behalf; control itself where it is left out. */
  readonly by?: string;
}

/** What a row should be, and who or what says so. */
export interface Desire<Wanted extends string = string> extends Cause {
  readonly wanted: Wanted;
}

/** What a user does, as a cause. */
export const causeOf = ({ user }: { readonly user: User }, verb: string) => ({
  because: `${verb} by ${user.name}`,
  by: user.name,
});

/**
 * Writes what is wanted of a row: the only writer of wishes, as `move` is of statuses. False, and
 * nothing is written, where the row has its final status. Whatever else forbids a wish is decided
 * before, in the same transaction, over a row that is held.
 */
export async function want(
  db: Connection,
  noun: Noun,
  id: string,
  { wanted, because, by }: Desire,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable(tableOf[noun])
    .set({ wanted: wanted as never, wanted_because: because, wanted_by: by ?? null })
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
