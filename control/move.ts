import { fail } from "../common/errors.ts";
import type { Machine } from "../common/machine.ts";
import type { Connection } from "./db/open.ts";
import { addEvent } from "./events.ts";
import type { Ground } from "./ground.ts";
import { type Noun, tableOf } from "./nouns.ts";

/** What changes with a status, in the same transaction. */
type Also = (tx: Connection) => Promise<void>;

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
  also?: Also,
): Promise<boolean> {
  const { name: noun, allows } = machine;
  if (!allows(row.status, to))
    fail("StatusError", `a ${noun} cannot go from ${row.status} to ${to}`);
  const event = { noun, id: row.id, from: row.status, to, reason, at: ctx.now() };
  const moved = await ctx.batch(async (tx) => {
    const changed = await setStatus(tx, { ...event, wanted: row.wanted });
    if (changed === undefined) return false;
    await addEvent(tx, { ...event, actor: changed.wanted_by });
    await also?.(tx);
    return true;
  });
  if (moved) ctx.log.info(event, "moved");
  if (moved) ctx.changes.notify(`${noun}:${row.id}`);
  return moved;
}

interface Move {
  noun: Noun;
  id: string;
  wanted: string;
  from: string;
  to: string;
  at: Date;
}

/** On whose behalf the row moved; undefined where it did not. */
async function setStatus(
  tx: Connection,
  { noun, id, wanted, from, to, at }: Move,
): Promise<{ wanted_by: string | null } | undefined> {
  return tx
    .updateTable(tableOf[noun])
    .set({ status: to as never, status_changed_at: at.getTime() })
    .where("id", "=", id)
    .where("status", "=", from as never)
    .where("wanted", "=", wanted as never)
    .returning("wanted_by")
    .executeTakeFirst();
}
