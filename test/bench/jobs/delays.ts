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

/** From the loss of a machine, or a notice of it, to the next attempt of its job. */
export async function jobsRecovered(lab: Lab): Promise<Figure[]> {
  const control = await lab.control("bundle");
  const { client } = control;
  const task = { run: "sleep 1000", config: { hooks: [{ run: "sleep 3" }] } };
  const { job_id } = await client.callAndGet(rows.launch, {
    ...{ task: JSON.stringify(task), name: "job" },
  });
  const onLoss = await timesToRecover(lab, control, 8, { lose: true });
  const onNotice = await timesToRecover(lab, control, 4, { notice_seconds: 30 });
  await client.callAndGet(rows.cancel, { job_ids: job_id });
  await untilAll(client, (jobs) => jobs.every(isOver), lab.signal);
  if (nodeHomes(control.home).length > 0) throw new Error("a node is left");
  const what = "machine of a managed job lost to next attempt running";
  return [
    { what, measured: median(onLoss), unit: "ms", target: { atMost: 3_000 } },
    { what: `${what}: slowest of ${onLoss.length}`, measured: Math.max(...onLoss), unit: "ms" },
    {
      what: "30 s notice for a managed job, whose hook takes 3 s, to next attempt running",
      ...{ measured: median(onNotice), unit: "ms" },
    },
  ];
}

type Preemption = { readonly lose: true } | { readonly notice_seconds: number };

async function timesToRecover(
  { signal }: Lab,
  { client }: Control,
  count: number,
  how: Preemption,
): Promise<number[]> {
  const times: number[] = [];
  const untilRuns = async (isSo: (recoveries: number) => boolean) =>
    (
      await untilAll(
        client,
        (jobs) => jobs.every((job) => job.status === "RUNNING" && isSo(job.recovery_count ?? 0)),
        signal,
      )
    )[0];
  while (times.length < count) {
    const job = await untilRuns(() => true);
    const since = performance.now();
    const cluster_name = job?.current_cluster_name ?? "";
    await client.call(clusterOperations.preempt, { cluster_name, ...how });
    await untilRuns((recoveries) => recoveries > (job?.recovery_count ?? 0));
    times.push(performance.now() - since);
  }
  return times;
}
