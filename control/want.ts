import { sql } from "kysely";
import { gone } from "./db/lists.ts";
import type { Connection } from "./db/open.ts";
import type { Columns } from "./db/rows.ts";
import { type Fields, statement } from "./db/statement.ts";
import { forTables, type Noun } from "./nouns.ts";
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
 * before, in the same transaction, over a row that is held. `change` are other columns that change with it.
 */
export async function want(
  db: Connection,
  noun: Noun,
  id: string,
  { wanted, because, by }: Desire,
  change: Columns = {},
): Promise<boolean> {
  const written = await writeOf[noun](db, {
    ...(change as Fields),
    ...{ wanted, because, by: by ?? null, id },
  });
  return written.length === 1;
}

type Written = Fields & {
  readonly wanted: string;
  readonly because: string;
  readonly by: string | null;
  readonly id: string;
};

const writeOf = forTables((table) =>
  statement((db: Connection, { wanted, because, by, id, ...change }: Written) =>
    db
      .updateTable(table)
      .set({ ...change, wanted: wanted as never, wanted_because: because, wanted_by: by })
      .where("id", "=", id)
      .where("status", "<>", gone as never)
      .returning("id"),
  ),
);

/**
 * Holds a row until the transaction ends: nobody else writes it meanwhile. True while it is still
 * wanted to be what the caller saw.
 */
export async function hold(
  db: Connection,
  noun: Noun,
  { id, wanted }: { id: string; wanted: string },
): Promise<boolean> {
  return (await holdOf[noun](db, { id, wanted })).length === 1;
}

const holdOf = forTables((table) =>
  statement((db: Connection, { id, wanted }: { readonly id: string; readonly wanted: string }) =>
    db
      .updateTable(table)
      .set({ wanted: sql.ref("wanted") })
      .where("id", "=", id)
      .where("wanted", "=", wanted as never)
      .returning("id"),
  ),
);
