import { families, type Samples } from "./metrics.ts";

type Family = keyof typeof families;

const prefix = "outrigger_sidecar";
const names = Object.keys(families) as Family[];

/** The samples in Prometheus' text format. */
export const renderMetrics = (samples: Samples): string =>
  names
    .flatMap((name) => [
      `# HELP ${prefix}_${name} ${families[name][1]}`,
      `# TYPE ${prefix}_${name} ${families[name][0]}`,
      ...Object.entries(samples[name] ?? {}).map(
        ([of, value]) => `${prefix}_${name}${of} ${value}`,
      ),
    ])
    .concat("")
    .join("\n");

/** The samples of several processes as those of one. */
export function addSamples(all: readonly Samples[]): Samples {
  const sums: Partial<Record<Family, Record<string, number>>> = {};
  for (const samples of all)
    for (const name of names) {
      sums[name] ??= {};
      for (const [of, value] of Object.entries(samples[name] ?? {}))
        sums[name][of] = (sums[name][of] ?? 0) + value;
    }
  return sums;
}

/** What remains true of a process that has ended: all but its gauges. */
export const withoutGauges = (samples: Samples): Samples =>
  Object.fromEntries(
    names
      .filter((name) => families[name][0] !== "gauge")
      .map((name) => [name, samples[name] ?? {}]),
  );
