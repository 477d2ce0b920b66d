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
