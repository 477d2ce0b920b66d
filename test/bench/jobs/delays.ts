import { clusterOperations } from "../../../contract/operations/clusters.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { poolOperations as pools } from "../../../contract/operations/pools.ts";
import type { Figure } from "../figures.ts";
import type { Control, Lab } from "../lab.ts";
import { nodeHomes } from "../lab.ts";
import { median, quantile } from "../measure.ts";
import { isOver, submit, untilAll } from "./managed.ts";

const hello = "echo hello";

/** From the submission of a managed job to the first line that it printed. */
export async function jobsFirstLine(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const { client } = control;
  const onNew = await timesToLine(lab, control, 6);
  await client.callAndGet(pools.apply, {
    ...{ pool_name: "warm", mode: "rolling" },
    task: JSON.stringify({ pool: { workers: 1 } }),
  });
  const onWarm = await timesToLine(lab, control, 30, "warm");
  await client.callAndGet(pools.down, { pool_names: ["warm"] });
  return [
    ...figuresOf("managed job to first log line, new cluster", onNew, 2_000),
    ...figuresOf("managed job to first log line, worker of a pool", onWarm, 150),
  ];
}

const figuresOf = (what: string, times: number[], atMost: number): Figure[] => [
  { what, measured: median(times), unit: "ms", target: { atMost } },
  { what: `${what}: p95`, measured: quantile(times, 0.95), unit: "ms" },
];

async function timesToLine({ signal }: Lab, { client }: Control, count: number, pool?: string) {
  const times: number[] = [];
  for (let index = 0; index <= count; index += 1) {
    const since = performance.now();
    const job_id = await submit(client, hello, pool === undefined ? {} : { pool });
    let time: number | undefined;
    const write = () => {
      time ??= performance.now() - since;
    };
    await client.logs(rows.logs, { job_id }, { write, control() {} });
    times.push(time ?? Number.NaN);
    await untilAll(client, (jobs) => jobs.every(isOver), signal);
  }
  // The first one warms up.
  return times.slice(1);
}

/** From the loss of a machine to the next attempt of its job. */
export async function jobsRecovered(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const { client } = control;
  const id = await submit(client, "sleep 1000");
  const times: number[] = [];
  for (let recovered = 0; recovered < 8; recovered += 1) {
    const isRunning = ({
      status,
      recovery_count: count,
    }: {
      status: string | null;
      recovery_count: number | null;
    }) => status === "RUNNING" && count === recovered;
    const [job] = await untilAll(client, (jobs) => jobs.every(isRunning), lab.signal);
    const since = performance.now();
    await client.callAndGet(clusterOperations.preempt, {
      ...{ cluster_name: job?.current_cluster_name ?? "", lose: true },
    });
    await untilAll(
      client,
      (jobs) => jobs.every(({ recovery_count: count }) => count === recovered + 1),
      lab.signal,
    );
    times.push(performance.now() - since);
  }
  await client.callAndGet(rows.cancel, { job_ids: [id] });
  await untilAll(client, (jobs) => jobs.every(isOver), lab.signal);
  if (nodeHomes(control.home).length > 0) throw new Error("a node is left");
  const what = "machine of a managed job lost to next attempt running";
  return [
    { what, measured: median(times), unit: "ms", target: { atMost: 3_000 } },
    { what: `${what}: slowest of ${times.length}`, measured: Math.max(...times), unit: "ms" },
  ];
}
