import { setImmediate, setTimeout as sleep } from "node:timers/promises";

export interface Loop {
  /** Runs the next tick now instead of at its time. */
  nudge(): void;
  /** Ends the loop once the tick in flight is over. */
  stop(): Promise<void>;
}

const longestWaitMs = 60_000;

/**
 * Runs `tick` again and again, one at a time, `everyMs` apart with ±20 % jitter, which may be another
 * time after each tick. A tick that throws doubles the wait, up to a minute; `failed` is told.
 */
export function startLoop(
  everyMs: number | (() => number),
  tick: (signal: AbortSignal) => Promise<void>,
  failed: (error: unknown) => void,
): Loop {
  const stopping = new AbortController();
  let wake = new AbortController();
  let nudged = false;

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      nudged = false;
      try {
        await tick(stopping.signal);
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures += 1;
        failed(error);
      }
      if (nudged) continue;
      wake = new AbortController();
      const usualMs = typeof everyMs === "number" ? everyMs : everyMs();
      await sleep(waitMs(usualMs, failures), undefined, {
        signal: AbortSignal.any([stopping.signal, wake.signal]),
        ref: false,
      }).catch(() => {});
    }
  }

  const running = run();
  return {
    nudge() {
      nudged = true;
      wake.abort();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** How long to wait after so many failures in a row; `random` lies between 0 and 1. */
export const waitMs = (everyMs: number, failures: number, random = Math.random()): number =>
  Math.max(everyMs, Math.min(everyMs * 2 ** failures, longestWaitMs)) * (0.8 + random * 0.4);

/** The items, with a turn of the event loop for others after every few of them. */
export async function* paced<T>(items: Iterable<T>, atOnce = 500): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    if (count % atOnce === 0) await setImmediate();
    count += 1;
    yield item;
  }
}
