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
