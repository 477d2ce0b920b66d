import { performance } from "node:perf_hooks";
import type { Outcome, Passage } from "./forward/passage.ts";

/** What is counted of the requests, and read by the page of metrics. */
export interface Metrics {
  count(passage: Passage): void;
  /** The page in Prometheus' text format, with gauges of now and the log lines dropped so far. */
  render(gauges: Readonly<Record<string, number>>, linesDropped: number): string;
}

const prefix = "outrigger_sidecar";
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

  return {
    count,
    render: (gauges, linesDropped) =>
      [
        ...metric("requests_total", "counter", "Requests by how they ended and whose key.", [
          ...byKey
            .entries()
            .flatMap(([key, outcomes]) =>
              outcomes.entries().map(([outcome, n]) => [labels({ outcome, key }), n] as const),
            ),
        ]),
        ...histogram(buckets, seconds),
        ...metric("received_bytes_total", "counter", "Bytes of requests' bodies.", [["", bytesIn]]),
        ...metric("sent_bytes_total", "counter", "Bytes of answers.", [["", bytesOut]]),
        ...metric("log_lines_dropped_total", "counter", "Log lines that nothing took.", [
          ["", linesDropped],
        ]),
        ...Object.entries(gauges).flatMap(([name, value]) =>
          metric(name, "gauge", `${name.replaceAll("_", " ")} now.`, [["", value]]),
        ),
        "",
      ].join("\n"),
  };
}

type Sample = readonly [labels: string, value: number];

const metric = (name: string, type: string, help: string, samples: readonly Sample[]): string[] => [
  `# HELP ${prefix}_${name} ${help}`,
  `# TYPE ${prefix}_${name} ${type}`,
  ...samples.map(([label, value]) => `${prefix}_${name}${label} ${value}`),
];

function histogram(buckets: Float64Array, seconds: number): string[] {
  const name = `${prefix}_request_seconds`;
  const bounds = [...bucketsSeconds.map(String), "+Inf"];
  let total = 0;
  const lines = bounds.map((le, index) => {
    total += buckets[index] ?? 0;
    return `${name}_bucket${labels({ le })} ${total}`;
  });
  return [
    `# HELP ${name} Time from a request's head to the end of its answer.`,
    `# TYPE ${name} histogram`,
    ...lines,
    `${name}_sum ${seconds}`,
    `${name}_count ${total}`,
  ];
}

function labels(values: Readonly<Record<string, string>>): string {
  const quoted = (value: string) => value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
  return `{${Object.entries(values)
    .map(([name, value]) => `${name}="${quoted(value)}"`)
    .join(",")}}`;
}
