import type { AgentEvent, LogGrowth } from "../contract/agent-shapes.ts";
import { type Agent, keys, type Reader } from "./context.ts";
import type { Journal } from "./journal.ts";

/** How many events are kept. */
const cap = 10_000;
const heartbeatMs = 5_000;
const page = 500;

/** Writes an event and forgets the one that is too old; call it in the transaction it tells of. */
export function addEvent(
  { journal, changes, now }: Pick<Agent, "journal" | "changes" | "now">,
  { kind, jobId, lifecycleId, status, text }: Omit<AgentEvent, "seq" | "at">,
): void {
  const { lastInsertRowid } = journal.sql.run`
    INSERT INTO events (at, kind, job_id, lifecycle_id, status, text)
    VALUES (${now()}, ${kind}, ${jobId ?? null}, ${lifecycleId ?? null}, ${status}, ${text ?? null})`;
  journal.sql.run`DELETE FROM events WHERE seq <= ${Number(lastInsertRowid) - cap}`;
  changes.notify(keys.events);
}

/** Has those who read events now told that the log of a job has grown. */
export function tellGrowth(
  { readers, changes }: Pick<Agent, "readers" | "changes">,
  jobId: number,
) {
  for (const { grown } of readers) grown.add(jobId);
  changes.notify(keys.events);
}

/** The number of the latest event; 0 before the first. */
export function lastSeq({ sql }: Journal): number {
  return Number(sql.get`SELECT coalesce(max(seq), 0) AS seq FROM events`?.["seq"]);
}

/**
 * Resolves once every event so far was sent to all who read them now, or when one of them is too
 * slow; answers whether all have heard.
 */
export async function untilHeard(
  {
    journal,
    changes,
    readers,
    stopping,
  }: Pick<Agent, "journal" | "changes" | "readers" | "stopping">,
  patienceMs: number,
): Promise<boolean> {
  const seq = lastSeq(journal);
  const look = async () => [...readers].every(({ heard }) => heard >= seq) || undefined;
  const signal = AbortSignal.any([AbortSignal.timeout(patienceMs), stopping]);
  try {
    return await changes.until(keys.heard, look, signal);
  } catch {
    stopping.throwIfAborted();
    return false;
  }
}

/** Lines for a reader of events: those after `after`, then each as it happens, until the signal. */
export async function* streamEvents(
  { journal, changes, readers }: Pick<Agent, "journal" | "changes" | "readers">,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const reader: Reader = { heard: Math.min(after, lastSeq(journal)), grown: new Set() };
  readers.add(reader);
  let isBeat = true;
  const heart = setInterval(() => {
    isBeat = true;
    changes.notify(keys.events);
  }, heartbeatMs);
  const hasNews = async () =>
    isBeat || reader.grown.size > 0 || lastSeq(journal) > reader.heard || undefined;
  try {
    for (;;) {
      await changes.until(keys.events, hasNews, signal);
      if (isBeat) yield "\n";
      isBeat = false;
      // What grows while these are sent comes after the events.
      const grown = [...reader.grown];
      reader.grown.clear();
      for (const jobId of grown)
        yield `${JSON.stringify({ kind: "log", jobId } satisfies LogGrowth)}\n`;
      for (const event of listEvents(journal, reader.heard)) {
        yield `${JSON.stringify(event)}\n`;
        // Whoever asks for more has sent what it got.
        reader.heard = event.seq;
        changes.notify(keys.heard);
      }
    }
  } finally {
    clearInterval(heart);
    readers.delete(reader);
    changes.notify(keys.heard);
  }
}

function listEvents({ sql }: Journal, after: number): AgentEvent[] {
  const rows = sql.all`SELECT * FROM events WHERE seq > ${after} ORDER BY seq LIMIT ${page}`;
  return rows.map((row) => ({
    seq: Number(row["seq"]),
    at: Number(row["at"]),
    kind: row["kind"] as AgentEvent["kind"],
    ...(row["job_id"] === null ? {} : { jobId: Number(row["job_id"]) }),
    ...(row["lifecycle_id"] === null ? {} : { lifecycleId: String(row["lifecycle_id"]) }),
    status: String(row["status"]),
    ...(row["text"] === null ? {} : { text: String(row["text"]) }),
  }));
}
