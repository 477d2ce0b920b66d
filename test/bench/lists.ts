import { once } from "node:events";
import { join } from "node:path";
import { request } from "undici";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { endNode, launch, onlyNode } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import type { Lab } from "./lab.ts";
import { quantile, timesOf } from "./measure.ts";
import { addClusters } from "./rows.ts";

const clusters = 1_500;
const jobs = 12_500;
const cluster = "busy";
const often = { warmUps: 10, samples: 100 };

/** Long lists, from the question to their last byte. */
export async function lists(lab: Lab): Promise<Figure[]> {
  const home = lab.folder();
  const first = await lab.control("bundle", home);
  await launch(first.client, cluster, null);
  await first.stop();
  await addJobs(lab, onlyNode(first).home);
  await addClusters(home, clusters);
  const { client, endpoint } = await lab.control("bundle", home);
  const refresh = { cluster_names: [cluster], refresh: "FORCE" as const };
  await client.callAndGet(clusterOperations.status, refresh);

  const all = { all_users: true };
  const of = { cluster_name: cluster };
  const statusShown = await client.callAndGet(clusterOperations.status, all);
  const queueShown = await client.callAndGet(clusterOperations.queue, of);
  if (statusShown.length !== clusters + 1 || queueShown.length !== jobs)
    throw new Error(`shown are ${statusShown.length} clusters and ${queueShown.length} jobs`);
  const get = async (id: string) => (await request(`${endpoint}/api/get?request_id=${id}`)).body;
  const statusMs = await timesOf(
    async () => (await get(await client.call(clusterOperations.status, all))).dump(whole),
    often,
  );
  const queueMs = await timesOf(
    async () => (await get(await client.call(clusterOperations.queue, of))).dump(whole),
    often,
  );
  return [
    ...figuresOf(`status over ${clusters} clusters`, statusMs),
    ...figuresOf(`queue over ${jobs} jobs`, queueMs),
  ];
}

/** Answers are read to their last byte, but not parsed: that is the client's time. */
const whole = { limit: Number.POSITIVE_INFINITY };

const figuresOf = (what: string, times: number[]): Figure[] => [
  { what: `${what}: p50`, measured: quantile(times, 0.5), unit: "ms" },
  { what: `${what}: p99`, measured: quantile(times, 0.99), unit: "ms", target: { atMost: 200 } },
];

/** Jobs in the journal, from a process that then lets go of it. */
async function addJobs(lab: Lab, nodeHome: string): Promise<void> {
  await endNode(nodeHome);
  const journal = join(nodeHome, ".outrigger/agent");
  const seeding = lab.load("lists-journal.ts", journal, String(jobs));
  await once(seeding, "exit", { signal: lab.signal });
}
