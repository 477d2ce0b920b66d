/** Does work as soon as it has its turn, unless the signal aborts before. */
export type Turns = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

/** Lets so much work go on at once; what comes later waits, first come first served. */
export function openTurns(atOnce: number): Turns {
  const waiting = new Set<() => void>();
  let free = atOnce;
  async function wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      if (waiting.delete(resolve)) reject(signal?.reason);
    };
    waiting.add(resolve);
    signal?.addEventListener("abort", leave);
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }
  return async (work, signal) => {
    signal?.throwIfAborted();
    if (free === 0) await wait(signal);
    else free -= 1;
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      const [next] = waiting;
      if (next === undefined) free += 1;
      else waiting.delete(next);
      next?.();
    }
  };
}

/**
 * Does work of a key once all that came before it for the same key has ended, whatever its end, unless the signal aborts
 * before.
 */
export function openTurnsByKey<Key>(): <T>(
  key: Key,
  work: () => Promise<T>,
  signal?: AbortSignal,
) => Promise<T> {
  const lines = new Map<Key, { readonly inTurn: Turns; length: number }>();
  return async (key, work, signal) => {
    const line = lines.get(key) ?? { inTurn: openTurns(1), length: 0 };
    lines.set(key, line);
    line.length += 1;
    try {
      return await line.inTurn(work, signal);
    } finally {
      line.length -= 1;
      if (line.length === 0) lines.delete(key);
    }
  };
}

/**
 * Works on all items, so many at once. After the first failure no further one is begun, the signal of those
 * in hand aborts, and the failure is thrown once they have ended.
 */
export async function workThrough<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const failed = new AbortController();
  const until = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const rest = Iterator.from(items);
  async function workOnNext(): Promise<void> {
    for (let next = rest.next(); !next.done && !until.aborted; next = rest.next())
      await work(next.value, until);
  }
  const working = Array.from({ length: atOnce }, () =>
    workOnNext().catch((error: unknown) => failed.abort(error)),
  );
  await Promise.all(working);
  until.throwIfAborted();
}
