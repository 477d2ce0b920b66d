import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import type { Figure } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { cpuMs, peaksOf, timeOf } from "../measure.ts";

const clusters = 200;

/** Many clusters launched at once on the local provider, each with an agent of its own. */
export async function manyLaunches(lab: Lab): Promise<Figure[]> {
  const { client, pid } = await lab.control("bundle");
  const task = JSON.stringify({ resources: { cpus: "0.1+", memory: "0.1+" }, run: "true" });
  const inputs = Array.from({ length: clusters }, (_, index) => ({
    cluster_name: `many-${index}`,
    task,
  }));
  const cpuBefore = cpuMs(pid);
  let ms = Number.NaN;
  const [peak = Number.NaN] = await peaksOf([pid], async () => {
    ms = await timeOf(() =>
      Promise.all(inputs.map((input) => client.callAndGet(rows.launch, input))),
    );
  });
  const found = await client.callAndGet(rows.status, { all_users: true });
  const up = found.filter(({ status }) => status === "UP").length;
  if (up !== clusters) throw new Error(`${up} of ${clusters} clusters are UP`);
  const what = `${clusters} clusters launched at once`;
  return [
    { what: `${what}: all UP and their jobs submitted`, measured: ms / 1_000, unit: "s" },
    {
      what: `${what}: CPU time of control for each`,
      measured: (cpuMs(pid) - cpuBefore) / clusters,
      unit: "ms",
    },
    { what: `${what}: most memory of control`, measured: peak, unit: "MiB" },
  ];
}
