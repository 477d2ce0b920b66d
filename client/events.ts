import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../common/errors.ts";
import { type GivenInputOf, toHttpCall } from "../common/operation.ts";
import { eventOperations } from "../contract/operations/events.ts";
import type { EventRecord } from "../contract/records/events.ts";
import { readEvents } from "./event-source.ts";
import { type FollowOptions, mayPass, reconnectDelaysMs } from "./follow.ts";
import type { Answer, Question } from "./transport.ts";

/** Which events are followed, and from where. */
export type EventsInput = Omit<GivenInputOf<typeof eventOperations.stream>, "last-event-id">;

export interface EventsOptions extends FollowOptions {
  /** Called when a connection is made: events from then on come. */
  readonly opened?: () => void;
}

/** Three times as long as a stream of control is ever quiet. */
const quietMs = 45_000;

/**
 * Events as they happen, without end. When the connection breaks it goes on after the last event. Throws what
 * the first connection throws, and the interruption itself after three tries in a row in vain.
 */
export async function* followEvents(
  send: (question: Question) => Promise<Answer>,
  input: EventsInput,
  { signal, delaysMs = reconnectDelaysMs, opened }: EventsOptions,
): AsyncGenerator<EventRecord> {
  let since: string | undefined;
  for (let failures = 0; ; failures += 1) {
    try {
      let isOpen = false;
      const from = since === undefined ? input : { ...input, since };
      for await (const { id, data } of streamOnce(send, from, signal)) {
        since = id ?? since;
        failures = 0;
        if (!isOpen) opened?.();
        isOpen = true;
        if (data !== undefined) yield JSON.parse(data) as EventRecord;
      }
      throw new AppError("UnreachableError", "the control plane closed the event stream");
    } catch (error) {
      const delayMs = delaysMs[failures];
      if (since === undefined || delayMs === undefined || !mayPass(error, signal)) throw error;
      await sleep(delayMs, undefined, { signal });
    }
  }
}

/** One connection; it is closed when it is quiet for too long, or nobody reads on. */
async function* streamOnce(
  send: (question: Question) => Promise<Answer>,
  input: object,
  signal: AbortSignal,
) {
  const closing = new AbortController();
  const quiet = setTimeout(() => closing.abort(), quietMs);
  try {
    const { method, path } = toHttpCall(eventOperations.stream, { ...input });
    const { body } = await send({ method, path, signal: closing.signal });
    for await (const event of readEvents(body)) {
      quiet.refresh();
      yield event;
    }
  } catch (error) {
    if (signal.aborted || !closing.signal.aborted) throw error;
    throw new AppError("UnreachableError", "the control plane stopped answering", {}, error);
  } finally {
    clearTimeout(quiet);
    closing.abort();
  }
}
