import { join } from "node:path";
import type { Cluster } from "../../control/clusters/schema.ts";
import { addCluster } from "../../control/clusters/store.ts";
import { openDatabase } from "../../control/db/open.ts";
import { addEvent } from "../../control/events.ts";
import { caller } from "./lab.ts";

const eventsEach = 4;

/** Clusters that are off, so that nobody looks for their nodes. */
export async function addClusters(home: string, count: number): Promise<void> {
  const db = await openDatabase(join(home, "control/state.db"));
  await db.transaction().execute(async (tx) => {
    for (let index = 0; index < count; index += 1) {
      const one = aCluster(index);
      await addCluster(tx, one);
      const event = { noun: "cluster", id: one.id, from: "INIT", to: "UP", at: new Date() };
      for (let each = 0; each < eventsEach; each += 1)
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
  machine: {},
  taskYaml:
    "name: train\nnum_nodes: 1\nsetup: pip install -r requirements.txt\nrun: python train.py\n",
  command: "outrigger launch -c seeded train.yaml",
  autostop: { idleMinutes: 10, down: false, waitFor: "jobs_and_ssh", hook: null },
  hooksVersion: null,
  skipHooks: false,
  problem: null,
  placement: null,
  everUp: true,
  launchedAt: Date.now() - index * 1_000,
  statusChangedAt: Date.now(),
});
