import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, fail } from "../common/errors.ts";
import type { InputOf } from "../common/operation.ts";
import { eventOperations as rows } from "../contract/operations/events.ts";
import type { EventRecord } from "../contract/records/events.ts";
import { type Bound, bind, type Call, type Reply } from "./bind.ts";
import type { Context } from "./context.ts";
import { eventsKey, type LoggedEvent, settledId, stretchIds } from "./event-log.ts";

/** So that a connection that broke is found out, and none that is quiet is taken for broken. */
const keepAliveMs = 15_000;
/** For browsers: how long to wait before they connect again. */
const retryMs = 1_000;

/** The log of events, as clients read it. */
export const eventOperations: Bound[] = [bind(rows.stream, stream)];

async function stream(
  ctx: Context,
  input: InputOf<typeof rows.stream>,
  call: Call,
): Promise<Reply> {
  const newest = await settledId(ctx.db);
  const wanted = { ...input, workspaces: call.workspaces };
  const since = resumedFrom(input) ?? input.since ?? (await beforeTail(ctx, newest, wanted));
  if (since > newest)
    fail(
      "ValueError",
      `since: there is no event ${since} yet, the newest is ${newest}; control's database may be an older copy: reload your state, then connect without since`,
    );
  if (ctx.eventStreams.size >= ctx.config.eventStreamsAtMost)
    fail("ResourcesUnavailableError", "too many event streams are open; try again later");
  const reader = openReader(ctx, since, wanted, call.signal);
  return { headers: { "content-type": "text/event-stream" }, body: openBody(ctx, reader) };
}

/** What a client that reconnects says that it has. */
const resumedFrom = ({ "last-event-id": last }: InputOf<typeof rows.stream>): number | undefined =>
  last === undefined ? undefined : Number(last);

/** The id after which the newest `tail` events come that fit. */
async function beforeTail(
  { eventLog }: Context,
  newest: number,
  wanted: Wanted & { readonly tail: number },
): Promise<number> {
  if (wanted.tail === 0) return newest;
  let missing = wanted.tail;
  for (let upTo = newest; upTo > 0; upTo -= stretchIds) {
    const { events } = await eventLog.read(Math.max(0, upTo - stretchIds));
    const found = events.filter((event) => event.id <= upTo && fits(event, wanted));
    const first = found.at(-missing);
    if (first !== undefined) return first.id - 1;
    missing -= found.length;
    await nextTurn();
  }
  return 0;
}

/** The text of a stream, as a body that ends when nobody takes it for long. */
function openBody(ctx: Context, reader: EventReader): Readable {
  let stalled: NodeJS.Timeout | undefined;
  const text = async function* () {
    for await (const piece of textOf(reader)) {
      stalled = setTimeout(() => body.destroy(takesNothing), ctx.config.stalledSeconds * 1_000);
      // Goes on once there is room for more: nothing is read ahead for a slow reader.
      yield piece;
      clearTimeout(stalled);
    }
  };
  const body = Readable.from(text(), { highWaterMark: 1 });
  ctx.eventStreams.add(body);
  body.once("close", () => {
    clearTimeout(stalled);
    ctx.eventStreams.delete(body);
  });
  return body;
}

const takesNothing = new AppError("TimeoutError", "the client does not read its events");

/** Which events a reader wants; null is any. */
interface Wanted {
  readonly noun: EventRecord["noun"] | null;
  /** Of a cluster, or of a service: with its replicas. */
  readonly name: string | null;
  /** Leaves out remarks that nobody needs. */
  readonly noteworthy: boolean;
  /** Waits for events to come. */
  readonly follow: boolean;
  /** Only what is in these workspaces; null is any. */
  readonly workspaces: readonly string[] | null;
}

const fits = (event: LoggedEvent, { noun, name, noteworthy, workspaces }: Wanted): boolean =>
  (workspaces === null || workspaces.includes(event.workspace ?? "")) &&
  (noun === null || event.noun === noun) &&
  (name === null || event.name === name) &&
  (!noteworthy || event.noteworthy);

/** Where a reader is in the log. */
interface EventReader {
  /** The id up to which it has read. */
  position(): number;
  /** The next events; none after a while without any, undefined at the end. */
  next(): Promise<LoggedEvent[] | undefined>;
}

/** Opens a reader after an event. */
export function openReader(
  ctx: Pick<Context, "eventLog" | "changes">,
  since: number,
  wanted: Wanted,
  signal: AbortSignal,
  waitMs = keepAliveMs,
): EventReader {
  let position = since;

  async function read(): Promise<LoggedEvent[]> {
    for (;;) {
      signal.throwIfAborted();
      const { events, upTo, isLast } = await ctx.eventLog.read(position);
      position = upTo;
      const found = events.filter((event) => fits(event, wanted));
      if (found.length > 0 || isLast) return found;
      // What is left out may be long; others want their turn.
      await nextTurn();
    }
  }

  async function wait(): Promise<LoggedEvent[]> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), waitMs);
    const look = async () => {
      const events = await read();
      return events.length > 0 ? events : undefined;
    };
    try {
      return await ctx.changes.until(eventsKey, look, AbortSignal.any([signal, late.signal]));
    } catch (error) {
      if (signal.aborted || !late.signal.aborted) throw error;
      return [];
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    position: () => position,
    async next() {
      if (wanted.follow) return wait();
      const events = await read();
      return events.length > 0 ? events : undefined;
    },
  };
}

const toRecord = ({ workspace: _, ...record }: LoggedEvent): EventRecord => record;

/** Events as `text/event-stream`; each piece says how far it goes, also where it has no event. */
async function* textOf(reader: EventReader): AsyncGenerator<string> {
  yield `retry: ${retryMs}\nid: ${reader.position()}\n\n`;
  for (;;) {
    const events = await reader.next();
    if (events === undefined) return;
    const texts = events.map(
      (event) => `id: ${event.id}\ndata: ${JSON.stringify(toRecord(event))}\n\n`,
    );
    yield `${texts.join("")}id: ${reader.position()}\n\n`;
  }
}
