import assert from "node:assert/strict";
import type { EventRecord } from "../../contract/records/events.ts";
import type { HttpClient } from "./http-client.ts";

/** A stream of events that a test reads. */
export interface EventReader {
  /** The position that the stream gave last. */
  lastId(): string | undefined;
  /** The events from the first one not taken yet up to one that fits. */
  until(fits: (event: EventRecord) => boolean): Promise<EventRecord[]>;
  /** The events not taken yet, once the stream has ended. */
  rest(): Promise<EventRecord[]>;
  /** Hangs up. */
  close(): void;
}

/** Opens `GET /events` with a query such as `since=0`. */
export async function openEvents(
  { open }: Pick<HttpClient, "open">,
  query = "",
  headers: Record<string, string> = {},
): Promise<EventReader> {
  const hangUp = new AbortController();
  const answer = await open("GET", `/events?${query}`, { headers, signal: hangUp.signal });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers["content-type"], "text/event-stream");
  const chunks = answer.body[Symbol.asyncIterator]();
  const blocks: string[] = [];
  let rest = "";
  let lastId: string | undefined;

  /** The next event; undefined at the end. */
  async function next(): Promise<EventRecord | undefined> {
    for (;;) {
      for (let block = blocks.shift(); block !== undefined; block = blocks.shift()) {
        lastId = /^id: (\d+)$/m.exec(block)?.[1] ?? lastId;
        const [, json] = /^data: (.*)$/m.exec(block) ?? [];
        if (json !== undefined) return JSON.parse(json);
      }
      const { done, value } = await chunks.next();
      if (done) return undefined;
      blocks.push(...(rest + value).split("\n\n"));
      rest = blocks.pop() ?? "";
    }
  }

  return {
    lastId: () => lastId,
    async until(fits) {
      const found: EventRecord[] = [];
      for (;;) {
        const event = (await next()) ?? assert.fail("the stream ended");
        found.push(event);
        if (fits(event)) return found;
      }
    },
    async rest() {
      const found: EventRecord[] = [];
      for (let event = await next(); event !== undefined; event = await next()) found.push(event);
      return found;
    },
    close: () => hangUp.abort(),
  };
}
