import { fail } from "../common/errors.ts";
import type { Machine } from "../common/machine.ts";
import type { Connection } from "./db/open.ts";
import type { Columns } from "./db/rows.ts";
import { type Fields, statement } from "./db/statement.ts";
import { addEvent } from "./events.ts";
import type { Ground } from "./ground.ts";
import { forTables, type Noun } from "./nouns.ts";

/** What changes with a status, in the same transaction. */
interface More {
  /** Other columns of the row. */
  readonly change?: Columns;
  also?(tx: Connection): Promise<void>;
}

/**
 * Moves a row to another status, together with the event that tells of it: the only writer of
 * status columns. False, and nothing is written, when the row is no longer where the caller saw it, or
 * something else is wanted of it by now.
 */
export async function move<S extends string>(
  ctx: Ground,
  machine: Machine<S, Noun>,
  row: { id: string; status: NoInfer<S>; wanted: string },
  to: NoInfer<S>,
  reason: string,
  { change, also }: More = {},
): Promise<boolean> {
  const { name: noun, allows } = machine;
  if (!allows(row.status, to))
    fail("StatusError", `a ${noun} cannot go from ${row.status} to ${to}`);
  const event = { noun, id: row.id, from: row.status, to, reason, at: ctx.now() };
  const moved = await ctx.batch(async (tx) => {
    const { id, from, at } = event;
    const move = { ...(change as Fields), to, at: at.getTime(), id, from, wanted: row.wanted };
    const [changed] = await setStatusOf[noun](tx, move);
    if (changed === undefined) return false;
    await addEvent(tx, { ...event, actor: changed.wanted_by });
    await also?.(tx);
    return true;
  });
  if (moved) ctx.log.info(event, "moved");
  if (moved) ctx.changes.notify(`${noun}:${row.id}`);
  return moved;
}

type Move = Fields & {
  readonly to: string;
  readonly at: number;
  readonly id: string;
  readonly from: string;
  readonly wanted: string;
};

/** Moves a row; on whose behalf it moved, and nothing where it did not. */
const setStatusOf = forTables((table) =>
  statement((tx: Connection, { to, at, id, from, wanted, ...change }: Move) =>
    tx
      .updateTable(table)
      .set({ ...change, status: to as never, status_changed_at: at })
      .where("id", "=", id)
      .where("status", "=", from as never)
      .where("wanted", "=", wanted as never)
      .returning("wanted_by"),
  ),
);
