/** Does work as soon as it has its turn. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Lets so much work go on at once; what comes later waits, first come first served. */
export function openTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Does work of a key once all that came before it for the same key has ended, whatever its end. */
export function openTurnsByKey<Key>(): <T>(key: Key, work: () => Promise<T>) => Promise<T> {
  const lines = new Map<Key, { readonly inTurn: Turns; length: number }>();
  return async (key, work) => {
    const line = lines.get(key) ?? { inTurn: openTurns(1), length: 0 };
    lines.set(key, line);
    line.length += 1;
    try {
      return await line.inTurn(work);
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
