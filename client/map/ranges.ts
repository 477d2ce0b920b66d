/** Numbers of inputs that follow one another, the first and the last. */
export type Range = readonly [first: number, last: number];

/** Ascending numbers as ranges. */
export function rangesOf(numbers: readonly number[]): Range[] {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

/** The numbers of ranges. */
export const numbersOf = (ranges: readonly Range[]): number[] =>
  ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => first + at),
  );

/** Numbers in at most so many chunks of nearly the same size, in their order. */
export function chunksOf(numbers: readonly number[], chunks: number): Range[][] {
  const many = Math.min(chunks, numbers.length);
  return Array.from({ length: many }, (_, at) => {
    const edge = (index: number) => Math.floor((index * numbers.length) / many);
    return rangesOf(numbers.slice(edge(at), edge(at + 1)));
  });
}
