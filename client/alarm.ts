import { setTimeout as sleep } from "node:timers/promises";
import type { EventsInput } from "./events.ts";
import { mayPass } from "./follow.ts";
import type { Client } from "./sdk.ts";

/** Says when to look again at something that control tells events of. */
export interface Alarm extends Disposable {
  /** Waits for the next event, at most `pauseMs` while no events can be heard. */
  wait(pauseMs: number): Promise<void>;
}

/** What is looked at may also change without an event, in small ways. */
const longestWaitMs = 10_000;
const reopenMs = 3_000;

/** Listens for events until it is closed; where control has no stream of them, `wait` is a mere pause. */
export function openAlarm(
  client: Pick<Client, "events">,
  input: EventsInput,
  signal: AbortSignal,
): Alarm {
  const closing = new AbortController();
  const ended = AbortSignal.any([signal, closing.signal]);
  let isHeard = false;
  let next = Promise.withResolvers<void>();

  /** An opened stream rings, too: what happened before it is not in it. */
  function opened(): void {
    isHeard = true;
    next.resolve();
  }

  async function listen(): Promise<void> {
    for (;;)
      try {
        for await (const _ of client.events(input, { signal: ended, opened })) next.resolve();
      } catch (error) {
        isHeard = false;
        if (!mayPass(error, ended)) return;
        await sleep(reopenMs, undefined, { signal: ended });
      }
  }

  listen().catch(() => {});
  return {
    async wait(pauseMs) {
      const waiting = new AbortController();
      const ms = isHeard ? longestWaitMs : pauseMs;
      const stopped = AbortSignal.any([ended, waiting.signal]);
      await Promise.race([next.promise, sleep(ms, undefined, { signal: stopped })]).finally(() =>
        waiting.abort(),
      );
      next = Promise.withResolvers();
    },
    [Symbol.dispose]: () => closing.abort(),
  };
}
