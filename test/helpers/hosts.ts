import type { HostFacts } from "../../control/doors/ssh/probe.ts";
import type { ReadyHost } from "../../control/ssh-pools/schema.ts";

/** A host of the pool `lab` that clusters can be given. */
export const aHost = (name: string, facts: Partial<HostFacts> = {}): ReadyHost => ({
  pool: "lab",
  name,
  machine: `[${name}]:22`,
  facts: {
    os: "Linux",
    arch: "x86_64",
    cpus: 4,
    memoryGb: 16,
    freeDiskMb: 10_000,
    accelerators: null,
    hasBash: true,
    systemd: null,
    user: "ana",
    home: "/home/ana",
    foreignUnit: null,
    hasBundles: false,
    node: null,
    address: "10.0.0.1",
    ...facts,
  },
  problem: null,
  isDraining: false,
  isDirty: false,
  lookedAt: 1,
  deployedAt: 1,
});
