/** A stream of numbers that a seed and a name determine: each use has its own, so that none moves another. */
export interface Random {
  /** Between 0 and 1. */
  next(): number;
  /** A whole number from `least` up to and including `most`. */
  between(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
  chance(share: number): boolean;
}

/** Opens the stream of this name. Mulberry32, seeded by FNV-1a. */
export function openRandom(seed: number, name: string): Random {
  let state = 0x811c9dc5 ^ seed;
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193);

  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    pick: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
    chance: (share) => next() < share,
  };
}
