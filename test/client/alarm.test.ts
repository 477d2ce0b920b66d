import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { openAlarm } from "../../client/alarm.ts";
import type { Client } from "../../client/sdk.ts";
import { AppError } from "../../common/errors.ts";
import type { EventRecord } from "../../contract/records/events.ts";

type Events = Client["events"];
const signal = new AbortController().signal;
const forEver = 2 ** 30;
/** Beyond this a wait was not woken. */
const soonMs = 5_000;

/** A stream that is opened at once, has an event each time `ring` is called, and ends with its signal. */
function streaming() {
  let next = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const events: Events = async function* (_input, { signal: ended = signal, opened } = {}) {
    ended.addEventListener("abort", () => closed.resolve());
    opened?.();
    for (;;) {
      await Promise.race([next.promise, once(ended, "abort")]);
      ended.throwIfAborted();
      next = Promise.withResolvers();
      yield {} as EventRecord;
    }
  };
  return { events, closed: closed.promise, ring: () => next.resolve() };
}

test("a wait ends when the stream is opened, and with each event from then on", async () => {
  const stream = streaming();
  using alarm = openAlarm(stream, {}, signal);
  const from = performance.now();

  await alarm.wait(forEver);
  const waits = alarm.wait(forEver);
  stream.ring();
  await waits;
  stream.ring();
  await new Promise(setImmediate);
  await alarm.wait(forEver);

  assert.ok(performance.now() - from < soonMs);
});

test("a control plane without a stream is asked after each pause", async () => {
  let asked = 0;
  const events: Events = () => {
    asked += 1;
    throw new AppError("NotFoundError", "no /events");
  };
  using alarm = openAlarm({ events }, {}, signal);

  for (let looks = 0; looks < 3; looks += 1) await alarm.wait(1);

  assert.equal(asked, 1);
});

test("Ctrl-C ends a wait, and the end of the looking ends the stream", async () => {
  const interrupt = new AbortController();
  const stream = streaming();
  {
    using alarm = openAlarm(stream, {}, interrupt.signal);
    await alarm.wait(forEver);
    const waits = alarm.wait(forEver);
    interrupt.abort();
    await assert.rejects(waits, { name: "AbortError" });
  }
  const other = streaming();
  {
    using _alarm = openAlarm(other, {}, signal);
  }

  await Promise.all([stream.closed, other.closed]);
});
