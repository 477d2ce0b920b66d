import { median } from "../measure.ts";

/** How often everything is measured, in turns; a few times are enough to see that it works. */
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 7);

/** What each round gave, by the name of what was measured. */
export type Samples<V> = ReadonlyMap<string, readonly V[]>;

/**
 * Measures each subject once a round, after one round that does not count: so whatever else the
 * machine does meets all of them, and none is always the first.
 */
export async function mapInBatches<S extends { readonly name: string }, V>(
  subjects: readonly S[],
  measure: (subject: S) => Promise<V>,
): Promise<Samples<V>> {
  const samples = new Map(subjects.map(({ name }): [string, V[]] => [name, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const sample = await measure(subject);
      if (round > 0) samples.get(subject.name)?.push(sample);
    }
  return samples;
}

/** The median over all rounds of one value of one subject. */
export const medianOf = <V>(samples: Samples<V>, name: string, value: (sample: V) => number) =>
  median((samples.get(name) ?? []).map(value));

/** How the value of ours compares with another's: the median of each round's quotient. */
export function ratioTo<V>(
  samples: Samples<V>,
  name: string,
  value: (sample: V) => number,
  ours = "sidecar",
) {
  const others = (samples.get(name) ?? []).map(value);
  const own = (samples.get(ours) ?? []).map(value);
  return median(own.map((one, round) => one / (others[round] ?? Number.NaN)));
}
