import { exec, follow, launch } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { quantile } from "./measure.ts";

const cluster = "delay";
const lines = 600;

/** How long a line is on its way from a job through agent and control to a follower. */
export async function followDelay(lab: Lab): Promise<Figure[]> {
  const { client } = await lab.control("bundle");
  await launch(client, cluster, null);
  const job = `for i in {1..${lines}}; do echo $EPOCHREALTIME; sleep 0.02; done`;
  const delays: number[] = [];
  await follow(client, cluster, await exec(client, cluster, job), (bytes) => {
    const now = performance.timeOrigin + performance.now();
    for (const line of Buffer.from(bytes).toString().trimEnd().split("\n"))
      delays.push(now - Number(line) * 1_000);
  });
  if (delays.length !== lines) throw new Error(`${delays.length} of ${lines} lines came whole`);
  return [
    { what: "log line from job to follower: p50", measured: quantile(delays, 0.5), unit: "ms" },
    {
      what: "log line from job to follower: p99",
      measured: quantile(delays, 0.99),
      unit: "ms",
      target: { atMost: 100 },
    },
  ];
}
