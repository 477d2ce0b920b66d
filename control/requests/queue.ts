/** Requests that this process has taken on: those that wait, by queue, and those that run. */
export interface Queues {
  /** Puts a request at the end of its queue. */
  push(queue: QueueName, id: string): void;
  /** Works on a request at once, whatever waits; `abort` and `stop` end it like any other. */
  direct<T>(id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Gives the place of a request that only waits to the next in its queue. */
  aside<T>(id: string, wait: Promise<T>): Promise<T>;
  /** Ends the work on a request that runs; one that waits is left out when its turn comes. */
  abort(id: string, reason: unknown): void;
  /** How many requests come before one that waits; undefined where it does not. */
  behind(id: string): number | undefined;
  /** Begins to take requests, in the order they came. `run` never throws. */
  start(run: (id: string, signal: AbortSignal) => Promise<void>): void;
  /** Takes nothing new, aborts what runs and waits for it. */
  stop(reason: unknown): Promise<void>;
}

/** `urgent` is for what must not wait behind others, such as cancelling them. */
export type QueueName = "long" | "short" | "urgent";
type Run = (id: string, signal: AbortSignal) => Promise<void>;

/** Opens the queues; `atOnce` says how many requests of each run at a time. */
export function openQueues(atOnce: Readonly<Record<QueueName, number>>): Queues {
  const waiting: Record<QueueName, string[]> = { long: [], short: [], urgent: [] };
  const busy: Record<QueueName, number> = { long: 0, short: 0, urgent: 0 };
  const placeOf = new Map<string, QueueName>();
  const running = new Map<string, { abort: AbortController; done: Promise<unknown> }>();
  let run: Run | undefined;

  function take(queue: QueueName): void {
    while (run !== undefined && busy[queue] < atOnce[queue]) {
      const id = waiting[queue].shift();
      if (id === undefined) return;
      begin(queue, id, run);
    }
  }

  function begin(queue: QueueName, id: string, work: Run): void {
    busy[queue] += 1;
    placeOf.set(id, queue);
    void direct(id, (signal) => work(id, signal)).finally(() => {
      placeOf.delete(id);
      leave(queue);
    });
  }

  function leave(queue: QueueName): void {
    busy[queue] -= 1;
    take(queue);
  }

  /** Afterwards one more than usual may be at work: who has begun does not queue again. */
  async function aside<T>(id: string, wait: Promise<T>): Promise<T> {
    const queue = placeOf.get(id);
    if (queue === undefined) return wait;
    leave(queue);
    return wait.finally(() => {
      busy[queue] += 1;
    });
  }

  function direct<T>(id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const done = work(abort.signal).finally(() => running.delete(id));
    running.set(id, { abort, done });
    return done;
  }

  return {
    push(queue, id) {
      waiting[queue].push(id);
      take(queue);
    },
    direct,
    aside,
    behind(id) {
      const places = Object.values(waiting).map((ids) => ids.indexOf(id));
      return places.find((at) => at >= 0);
    },
    abort: (id, reason) => running.get(id)?.abort.abort(reason),
    start(work) {
      run = work;
      take("urgent");
      take("long");
      take("short");
    },
    async stop(reason) {
      run = undefined;
      const entries = [...running.values()];
      for (const { abort } of entries) abort.abort(reason);
      await Promise.allSettled(entries.map(({ done }) => done));
    },
  };
}
