import { fail } from "../common/errors.ts";
import type { Machine } from "../common/machine.ts";
import type { Context } from "./context.ts";
import type { Connection } from "./db/open.ts";
import { addEvent } from "./events.ts";

/** What changes with a status, in the same transaction. */
type Also = (tx: Connection) => Promise<void>;

/** Where the rows of a noun are. */
const tables = { cluster: "clusters", service: "services", replica: "replicas" } as const;

/**
 * Moves a row to another status, together with the event that tells of it: the only writer of
 * status columns. False when the row is no longer where the caller saw it; someone else was
 * first.
 */
export async function move<S extends string>(
  ctx: Context,
  machine: Machine<S, keyof typeof tables>,
  row: { id: string; status: NoInfer<S> },
  to: NoInfer<S>,
  reason: string,
  also?: Also,
): Promise<boolean> {
  const { name: noun, allows } = machine;
  if (!allows(row.status, to))
    fail("StatusError", `a ${noun} cannot go from ${row.status} to ${to}`);
  const event = { noun, id: row.id, from: row.status, to, reason, at: ctx.now() };
  const moved = await ctx.batch(async (tx) => {
    const changed = await setStatus(tx, event);
    if (changed) await addEvent(tx, event);
    if (changed) await also?.(tx);
    return changed;
  });
  if (moved) ctx.log.info(event, "moved");
  if (moved) ctx.changes.notify(`${noun}:${row.id}`);
  return moved;
}

interface Move {
  noun: keyof typeof tables;
  id: string;
  from: string;
  to: string;
  at: Date;
}

async function setStatus(tx: Connection, { noun, id, from, to, at }: Move): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable(tables[noun])
    .set({ status: to as never, status_changed_at: at.getTime() })
    .where("id", "=", id)
    .where("status", "=", from as never)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
