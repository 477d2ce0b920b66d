import type { StoredLifecycle } from "../../control/clusters/lifecycles/schema.ts";
import type { Observed } from "../../control/clusters/planning.ts";
import type { Cluster } from "../../control/clusters/schema.ts";

/** A cluster that is up and wanted so; the rest has defaults. */
export const aCluster = (more: Partial<Cluster> = {}): Cluster => ({
  id: "c1",
  name: "demo",
  status: "UP",
  wanted: "UP",
  wantedBecause: "launch by ada",
  skipHooks: false,
  user: { id: "u1", name: "ada" },
  workspace: "default",
  provider: "fake",
  nodes: 1,
  offer: {
    provider: "fake",
    infra: "fake",
    region: null,
    zone: null,
    instanceType: "small",
    cpus: 4,
    memoryGb: 16,
    accelerators: null,
    dollarsPerHour: 2,
  },
  addresses: [],
  ports: [],
  labels: {},
  machine: {},
  taskYaml: "run: 'true'",
  command: "launch",
  autostop: null,
  hooksVersion: null,
  madeFor: null,
  problem: null,
  placement: null,
  everUp: true,
  launchedAt: 0,
  statusChangedAt: 0,
  ...more,
});

/** A stop by a user whose hooks run. */
export const aLifecycle = (more: Partial<StoredLifecycle> = {}): StoredLifecycle => ({
  id: "l1",
  clusterId: "c1",
  rank: 0,
  revision: 1,
  events: ["stop"],
  cause: "user",
  because: "stop by ada",
  status: "HOOKS",
  skipsHooks: false,
  hooks: 0,
  runs: [],
  deadlineAt: null,
  startedAt: 0,
  endedAt: null,
  ...more,
});

/** A node that runs well. */
export const aNode = (rank: number, more: Partial<Observed> = {}): Observed => ({
  id: `c1-${rank}`,
  rank,
  state: "running",
  address: `10.0.0.${rank}`,
  agent: "well",
  knowsHooks: true,
  lifecycle: null,
  ...more,
});
