import type { Changes } from "../common/changes.ts";
import type { EventRecord } from "../contract/records/events.ts";
import type { Connection, Queries } from "./db/open.ts";
import { eventsOf, lastSeq } from "./events.ts";

/** An event, and the workspace of what it is about; null once that is forgotten. */
export interface LoggedEvent extends EventRecord {
  readonly workspace: string | null;
}

/** The events of one stretch of the log. */
export interface Stretch {
  readonly events: readonly LoggedEvent[];
  /** The id that was read up to; the next stretch begins after it. */
  readonly upTo: number;
  /** Nothing follows yet. */
  readonly isLast: boolean;
}

/** The log of events, for those who follow it. */
export interface EventLog {
  /** Takes note of a committed transaction: wakes readers where it added events. */
  committed(tx: Connection): void;
  /** Reads the stretch after an event. */
  read(after: number): Promise<Stretch>;
}

/** Notified after each commit that added events. */
export const eventsKey = "events";

/** Ids in a stretch, so that a read takes about a millisecond. */
export const stretchIds = 200;

/** Opens the log. Readers that are woken together share one read. */
export function openEventLog(db: Queries, changes: Changes): EventLog {
  const reads = new Map<number, Promise<Stretch>>();

  function read(after: number): Promise<Stretch> {
    const known = reads.get(after);
    if (known !== undefined) return known;
    const reading = readStretch(db, after).finally(() => {
      if (reads.get(after) === reading) reads.delete(after);
    });
    reads.set(after, reading);
    return reading;
  }

  return {
    read,
    committed(tx) {
      if (eventsOf(tx).length === 0) return;
      // A read that began before may not have them.
      reads.clear();
      changes.notify(eventsKey);
    },
  };
}

/**
 * The newest id below which no event can appear any more: readers go no further. SQLite gives ids under
 * its write lock, so they are committed in order, whatever the number of processes. A database in which
 * a lower id may be committed later has to leave out here what is newer than its oldest open transaction.
 */
export const settledId = (db: Queries): Promise<number> => lastSeq(db);

async function readStretch(db: Queries, after: number): Promise<Stretch> {
  const settled = await settledId(db);
  const upTo = Math.max(after, Math.min(settled, after + stretchIds));
  const events = upTo === after ? [] : await listBetween(db, after, upTo);
  return { events, upTo, isLast: upTo >= settled };
}

/** The events with ids after `after` and up to `upTo`, in their order. */
async function listBetween(db: Queries, after: number, upTo: number): Promise<LoggedEvent[]> {
  const rows = await namedEvents(db)
    .where("seq", ">", after)
    .where("seq", "<=", upTo)
    .orderBy("seq")
    .execute();
  return rows.map((row) => ({
    id: row.seq,
    noun: row.noun as EventRecord["noun"],
    name: row.name,
    replica: row.replica,
    job_id: row.job_id,
    subject: row.subject_id,
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    actor: row.actor,
    noteworthy: row.to_status !== null || row.is_noteworthy === 1,
    at: row.at / 1_000,
    workspace: row.workspace,
  }));
}

/** Events with the names of what they are about; a replica goes by its service's, a task by its job's. */
const namedEvents = (db: Queries) =>
  db
    .selectFrom("events")
    .leftJoin("clusters", (join) =>
      join.onRef("clusters.id", "=", "subject_id").on("noun", "=", "cluster"),
    )
    .leftJoin("replicas", (join) =>
      join.onRef("replicas.id", "=", "subject_id").on("noun", "=", "replica"),
    )
    .leftJoin("services", (join) =>
      join.on(({ eb, fn }) =>
        eb("services.id", "=", fn.coalesce("replicas.service_id", "subject_id")),
      ),
    )
    .leftJoin("job_tasks", (join) =>
      join.onRef("job_tasks.id", "=", "subject_id").on("noun", "=", "managed_job"),
    )
    .leftJoin("managed_jobs", "managed_jobs.id", "job_tasks.job_id")
    .select(({ fn }) => [
      "seq",
      "noun",
      fn.coalesce("clusters.name", "services.name", "managed_jobs.name").as("name"),
      "replicas.number as replica",
      "job_tasks.job_id",
      "subject_id",
      "from_status",
      "to_status",
      "events.reason",
      "events.actor",
      fn
        .coalesce("clusters.workspace", "services.workspace", "managed_jobs.workspace")
        .as("workspace"),
      "is_noteworthy",
      "at",
    ]);
