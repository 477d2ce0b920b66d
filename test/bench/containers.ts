import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { down, follow } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { median, timeOf } from "./measure.ts";

const launches = 8;
const hello = "echo hello";

/** A launch in an image that is there, beside what docker takes for the same. */
export async function containers(lab: Lab): Promise<Figure[]> {
  if (whyNoEngine("docker")) return [];
  const ends: (() => Promise<void>)[] = [];
  const { env, image, run } = await startEngine({ after: (end) => void ends.push(end) }, "docker");
  try {
    const { client } = await lab.control("bundle", lab.folder(), { ...env });
    const task = JSON.stringify({ resources: { image_id: `docker:${image}` }, run: hello });
    const dockerMs: number[] = [];
    const launchMs: number[] = [];
    for (let index = 0; index < launches; index += 1) {
      const words = ["run", "--rm", "--network=host", image, "bash", "-c", hello];
      dockerMs.push(await timeOf(() => run(...words)));
      const name = `boxed-${index}`;
      const since = performance.now();
      const { job_id } = await client.callAndGet(rows.launch, { cluster_name: name, task });
      let ms = Number.NaN;
      await follow(client, name, job_id, () => {
        ms = Number.isNaN(ms) ? performance.now() - since : ms;
      });
      launchMs.push(ms);
      await down(client, name);
    }
    const beyond = median(launchMs) - median(dockerMs);
    return [
      { what: "docker run to its output", measured: median(dockerMs), unit: "ms" },
      {
        what: "launch in a container to first log line, beyond docker run",
        ...{ measured: beyond, unit: "ms", target: { atMost: 1_500 } },
      },
    ];
  } finally {
    for (const end of ends) await end();
  }
}
