import { type Selectable, sql } from "kysely";
import { gone } from "./db/lists.ts";
import type { Connection, Queries } from "./db/open.ts";
import { statement } from "./db/statement.ts";
import type { Tables } from "./db/tables.ts";

/** Something that happened to a thing; without statuses it is a remark. */
export interface NewEvent {
  noun: string;
  id: string;
  from?: string;
  to?: string;
  reason: string;
  /** The user on whose behalf; left out where control acts by itself. */
  actor?: string | null | undefined;
  /** A remark that nobody should miss. */
  isNoteworthy?: boolean;
  at: Date;
}

/** Which events are listed: `noteworthy` is moves, and remarks that nobody should miss. */
export type EventKind = "moves" | "remarks" | "ends" | "noteworthy";

export interface StoredEvent {
  from: string | null;
  to: string | null;
  reason: string;
  at: Date;
}

const added = new WeakMap<Connection, NewEvent[]>();

/** The events that were added in a transaction. */
export const eventsOf = (tx: Connection): readonly NewEvent[] => added.get(tx) ?? [];

/** Adds a row to the log of events; a remark is told in all logs once it is committed (`narrateEvents`). */
export async function addEvent(db: Connection, event: NewEvent): Promise<void> {
  const { noun, id, from = null, to = null, reason, actor = null } = event;
  const { isNoteworthy = false, at } = event;
  const row = { noun, subject_id: id, from_status: from, to_status: to, reason, actor };
  await insert(db, { ...row, is_noteworthy: Number(isNoteworthy), at: at.getTime() });
  const events = added.get(db) ?? [];
  events.push(event);
  added.set(db, events);
}

const insert = statement((db: Connection, row: Omit<Selectable<Tables["events"]>, "seq">) =>
  db.insertInto("events").values(row),
);

/** The newest events of a thing that are of any of these kinds, at most `limit`, oldest first. */
export async function listEvents(
  db: Queries,
  noun: string,
  id: string,
  { kinds, limit }: { kinds: readonly EventKind[]; limit: number },
): Promise<StoredEvent[]> {
  const isOf = Object.fromEntries(kinds.map((kind) => [kind, true]));
  const rows = await selectEvents(db, { noun, id, ...isOf, limit });
  return rows.reverse().map((row) => ({
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    at: new Date(row.at),
  }));
}

type Listed = { readonly noun: string; readonly id: string; readonly limit: number } & {
  readonly [Kind in EventKind]?: true;
};

const selectEvents = statement((db: Queries, { noun, id, limit, ...kinds }: Listed) =>
  db
    .selectFrom("events")
    .select(["from_status", "to_status", "reason", "at"])
    .where("noun", "=", noun)
    .where("subject_id", "=", id)
    .where(({ eb, or }) => {
      const moves = eb("to_status", "is not", null);
      const fits = {
        moves,
        remarks: eb("to_status", "is", null),
        ends: eb("to_status", "=", gone),
        noteworthy: or([moves, eb("is_noteworthy", "=", sql.lit(1))]),
      };
      return or(Object.keys(kinds).map((kind) => fits[kind as EventKind]));
    })
    .orderBy("seq", "desc")
    .limit(limit),
);

/** The number of the newest event; 0 when there is none. */
export async function lastSeq(db: Queries): Promise<number> {
  const row = await db
    .selectFrom("events")
    .select(({ fn }) => fn.max("seq").as("seq"))
    .executeTakeFirst();
  return row?.seq ?? 0;
}

/** Whether a thing moved to a status after the event of a number. */
export async function hasMovedTo(
  db: Queries,
  noun: string,
  id: string,
  to: string,
  after: number,
): Promise<boolean> {
  const row = await db
    .selectFrom("events")
    .select("seq")
    .where("noun", "=", noun)
    .where("subject_id", "=", id)
    .where("to_status", "=", to)
    .where("seq", ">", after)
    .executeTakeFirst();
  return row !== undefined;
}
