import type { AgentEvent } from "../contract/agent-shapes.ts";
import { type Agent, keys } from "./context.ts";
import type { Journal } from "./journal.ts";

/** How many events are kept. */
const cap = 10_000;
const heartbeatMs = 5_000;
const page = 500;

/** Writes an event and forgets the one that is too old; call it in the transaction it tells of. */
export function addEvent(
  { journal, changes, now }: Pick<Agent, "journal" | "changes" | "now">,
  { kind, jobId, status }: Pick<AgentEvent, "kind" | "jobId" | "status">,
): void {
  const { lastInsertRowid } = journal.sql.run`
    INSERT INTO events (at, kind, job_id, status)
    VALUES (${now()}, ${kind}, ${jobId ?? null}, ${status})`;
  journal.sql.run`DELETE FROM events WHERE seq <= ${Number(lastInsertRowid) - cap}`;
  changes.notify(keys.events);
}

/** The number of the latest event; 0 before the first. */
export function lastSeq({ sql }: Journal): number {
  return Number(sql.get`SELECT coalesce(max(seq), 0) AS seq FROM events`?.["seq"]);
}

/** Lines for a reader of events: those after `after`, then each as it happens, until the signal. */
export async function* streamEvents(
  { journal, changes }: Pick<Agent, "journal" | "changes">,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let seen = Math.min(after, lastSeq(journal));
  let isBeat = true;
  const heart = setInterval(() => {
    isBeat = true;
    changes.notify(keys.events);
  }, heartbeatMs);
  const hasNews = async () => isBeat || lastSeq(journal) > seen || undefined;
  try {
    for (;;) {
      await changes.until(keys.events, hasNews, signal);
      if (isBeat) yield "\n";
      isBeat = false;
      for (const event of listEvents(journal, seen)) {
        seen = event.seq;
        yield `${JSON.stringify(event)}\n`;
      }
    }
  } finally {
    clearInterval(heart);
  }
}

function listEvents({ sql }: Journal, after: number): AgentEvent[] {
  const rows = sql.all`SELECT * FROM events WHERE seq > ${after} ORDER BY seq LIMIT ${page}`;
  return rows.map((row) => ({
    seq: Number(row["seq"]),
    at: Number(row["at"]),
    kind: row["kind"] as AgentEvent["kind"],
    ...(row["job_id"] === null ? {} : { jobId: Number(row["job_id"]) }),
    status: String(row["status"]),
  }));
}
