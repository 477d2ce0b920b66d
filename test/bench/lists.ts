import { once } from "node:events";
import { join } from "node:path";
import { request } from "undici";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { Cluster } from "../../control/clusters/schema.ts";
import { addCluster } from "../../control/clusters/store.ts";
import { openDatabase } from "../../control/db/open.ts";
import { addEvent } from "../../control/events.ts";
import { endNode, launch, onlyNode } from "./cluster.ts";
import type { Figure } from "./figures.ts";
import { caller, type Lab } from "./lab.ts";
import { quantile, timesOf } from "./measure.ts";

const clusters = 1_500;
const jobs = 12_500;
const eventsEach = 4;
const cluster = "busy";
const often = { warmUps: 10, samples: 100 };

/** Long lists, from the question to their last byte. */
export async function lists(lab: Lab): Promise<Figure[]> {
  const home = lab.folder();
  const first = await lab.control("bundle", home);
  await launch(first.client, cluster, null);
  await first.stop();
  await addJobs(lab, onlyNode(first).home);
  await addClusters(home);
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

/** Clusters that are off, so that nobody looks for their nodes. */
async function addClusters(home: string): Promise<void> {
  const db = await openDatabase(join(home, "control/state.db"));
  await db.transaction().execute(async (tx) => {
    for (let index = 0; index < clusters; index += 1) {
      const one = aCluster(index);
      await addCluster(tx, one);
      const event = { noun: "cluster", id: one.id, from: "INIT", to: "UP", at: new Date() };
      for (let count = 0; count < eventsEach; count += 1)
        await addEvent(tx, { ...event, reason: "every node runs" });
    }
  });
  await db.destroy();
}

const aCluster = (index: number): Cluster => ({
  id: `c${index}`,
  name: `seeded-${index}`,
  status: "STOPPED",
  wanted: "STOPPED",
  wantedBecause: "stop by bench",
  user: caller,
  workspace: "default",
  madeFor: null,
  provider: "local",
  nodes: 1,
  offer: {
    provider: "local",
    infra: "local",
    region: null,
    zone: null,
    instanceType: "local",
    cpus: 8,
    memoryGb: 32,
    accelerators: { name: "H100", count: 8 },
    dollarsPerHour: 0,
  },
  addresses: ["127.0.0.1"],
  ports: ["8080"],
  labels: { team: "research" },
  taskYaml:
    "name: train\nnum_nodes: 1\nsetup: pip install -r requirements.txt\nrun: python train.py\n",
  command: "outrigger launch -c seeded train.yaml",
  autostop: { idleMinutes: 10, down: false, waitFor: "jobs_and_ssh", hook: null },
  hooksVersion: null,
  skipHooks: false,
  problem: null,
  everUp: true,
  launchedAt: Date.now() - index * 1_000,
  statusChangedAt: Date.now(),
});

/** Jobs in the journal, from a process that then lets go of it. */
async function addJobs(lab: Lab, nodeHome: string): Promise<void> {
  await endNode(nodeHome);
  const journal = join(nodeHome, ".outrigger/agent");
  const seeding = lab.load("lists-journal.ts", journal, String(jobs));
  await once(seeding, "exit", { signal: lab.signal });
}
