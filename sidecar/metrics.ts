import { performance } from "node:perf_hooks";
import type { Outcome, Passage } from "./forward/passage.ts";

/** Every metric: its type in Prometheus, and its help. */
export const families = {
  requests_total: ["counter", "Requests by outcome and key."],
  request_seconds: ["histogram", "Time from a request's head to the end of its answer."],
  received_bytes_total: ["counter", "Bytes of requests' bodies."],
  sent_bytes_total: ["counter", "Bytes of answers."],
  log_lines_dropped_total: ["counter", "Log lines that could not be written."],
  workers_replaced_total: ["counter", "Workers that ended unexpectedly and were replaced."],
  workers: ["gauge", "Processes that forward now."],
  connections: ["gauge", "Client connections now."],
  open_requests: ["gauge", "Requests in progress."],
  keys: ["gauge", "Keys that are accepted now."],
} as const;

type Family = keyof typeof families;

/** Values of each metric, by what follows its name: labels, or the part of a histogram. */
export type Samples = Readonly<Partial<Record<Family, Readonly<Record<string, number>>>>>;

/** A sample without labels. */
export const single = (value: number) => ({ "": value });

/** Counts requests that ended. */
export interface Metrics {
  count(passage: Passage): void;
  samples(): Samples;
}

const bucketsSeconds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300];

/** Starts to count. */
export function openMetrics(): Metrics {
  const byKey = new Map<string, Map<Outcome, number>>();
  const buckets = new Float64Array(bucketsSeconds.length + 1);
  let seconds = 0;
  let bytesIn = 0;
  let bytesOut = 0;

  function count(passage: Passage): void {
    const { keyId, outcome } = passage;
    const outcomes = byKey.get(keyId) ?? new Map<Outcome, number>();
    byKey.set(keyId, outcomes);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const took = (performance.now() - passage.startedAtMs) / 1_000;
    seconds += took;
    bytesIn += passage.bytesIn;
    bytesOut += passage.bytesOut;
    let bucket = 0;
    while (took > (bucketsSeconds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    buckets[bucket] = (buckets[bucket] ?? 0) + 1;
  }

  const requests = () =>
    [...byKey].flatMap(([key, outcomes]) =>
      [...outcomes].map(([outcome, n]) => [labels({ outcome, key }), n] as const),
    );

  return {
    count,
    samples: () => ({
      requests_total: Object.fromEntries(requests()),
      request_seconds: histogram(buckets, seconds),
      received_bytes_total: single(bytesIn),
      sent_bytes_total: single(bytesOut),
    }),
  };
}

function histogram(buckets: Float64Array, seconds: number): Record<string, number> {
  const bounds = [...bucketsSeconds.map(String), "+Inf"];
  let total = 0;
  const below = bounds.map((le, index) => {
    total += buckets[index] ?? 0;
    return [`_bucket${labels({ le })}`, total] as const;
  });
  return { ...Object.fromEntries(below), _sum: seconds, _count: total };
}

function labels(values: Readonly<Record<string, string>>): string {
  const quoted = (value: string) => value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
  return `{${Object.entries(values)
    .map(([name, value]) => `${name}="${quoted(value)}"`)
    .join(",")}}`;
}
