import type { Seal } from "../../common/seal.ts";
import type { Connection, Queries } from "../db/open.ts";
import { json, rowsOf, sealed } from "../db/rows.ts";
import type { Leftover } from "./schema.ts";

const leftoversOf = (seal: Seal) =>
  rowsOf<Leftover>()(
    "ssh_leftovers",
    ["id", "pool", "name", "machine", "problem", "leftAt", "triedAt"],
    { facts: json, entry: sealed(seal) },
  );

/** What is left of a pool, or of all, by the names of its hosts. */
export async function listLeftovers(db: Queries, seal: Seal, pool?: string): Promise<Leftover[]> {
  const query = db.selectFrom("ssh_leftovers").selectAll().orderBy("pool").orderBy("name");
  const rows = await (pool === undefined ? query : query.where("pool", "=", pool)).execute();
  return rows.map(leftoversOf(seal).toItem);
}

export const findLeftover = (db: Queries, seal: Seal, id: string): Promise<Leftover | undefined> =>
  leftoversOf(seal).find(db, { id });

/** Writes what is left in a home; what was written of it before is forgotten. */
export async function putLeftover(db: Connection, seal: Seal, leftover: Leftover): Promise<void> {
  const row = leftoversOf(seal).toRow(leftover);
  await db
    .insertInto("ssh_leftovers")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
    .execute();
}

/** Writes why it is still there. */
export async function setLeftover(
  db: Connection,
  id: string,
  { problem, triedAt }: Pick<Leftover, "problem" | "triedAt">,
): Promise<void> {
  const change = { problem, tried_at: triedAt };
  await db.updateTable("ssh_leftovers").set(change).where("id", "=", id).execute();
}

/** Forgets what is left in a home; with an instant only where nobody has left anything there since. */
export async function deleteLeftover(db: Connection, id: string, leftAt?: number): Promise<void> {
  const query = db.deleteFrom("ssh_leftovers").where("id", "=", id);
  await (leftAt === undefined ? query : query.where("left_at", "=", leftAt)).execute();
}
