import { nodeIdOf } from "../../control/doors/node-id.ts";
import {
  meets,
  type NodeState,
  type Offer,
  type Provider,
} from "../../control/providers/provider.ts";
import { openFakeAgent, type UnservedAgent } from "../helpers/fake-agent.ts";
import { openOf } from "../helpers/fake-lifecycles.ts";
import { aFakeNode, type FakeNode, isOver } from "../helpers/fake-node.ts";
import { openDoor } from "./door.ts";
import type { Network } from "./network.ts";

/** A machine, which outlives every control plane. */
interface Machine {
  readonly node: FakeNode;
  readonly rank: number;
  readonly streams: Set<() => void>;
  state: NodeState["state"];
  agent: UnservedAgent | undefined;
  /** Nobody reaches it until then. */
  cutOffUntil: number;
}

/** What the cloud tells of. */
export interface Watcher {
  /** A node is about to be stopped or deleted, by control. */
  ending(how: "stop" | "destroy", clusterId: string): void;
  /** A job was begun on a node. */
  began(submissionId: string): void;
  trace(line: string): void;
}

/** A cloud in simulated time, and the nodes in it. */
export interface Cloud {
  readonly provider: Provider;
  /** The clusters that machines belong to. */
  clusterIds(): string[];
  cutOff(clusterId: string, rank: number, forMs: number): void;
  killAgent(clusterId: string, rank: number): void;
  loseNode(clusterId: string, rank: number): void;
  /** Says on a node that it is taken away, and then does that. */
  preempt(clusterId: string, rank: number, inMs: number): void;
  /** Has the idle timer of a cluster run out, where it may. */
  becomeIdle(clusterId: string): void;
  /** Faults are over. */
  calm(): void;
}

const offer: Offer = {
  ...{ provider: "sim", infra: "sim", region: "here", zone: null, instanceType: "small" },
  ...{ cpus: 4, memoryGb: 16, accelerators: null, dollarsPerHour: 2 },
};

const bootMs = 1_500;

export function openCloud(network: Network, watcher: Watcher): Cloud {
  const machines = new Map<string, Machine>();
  const { clock } = network;
  const of = (clusterId: string, rank: number) => machines.get(nodeIdOf({ id: clusterId }, rank));
  const clusterOf = (nodeId: string) => nodeId.split("-")[0] ?? "";

  function turnOff(machine: Machine): void {
    machine.state = "stopped";
    endAgent(machine);
    for (const job of machine.node.jobs)
      if (!isOver(job.status)) Object.assign(job, { status: "FAILED_DRIVER", endedAt: 1 });
  }

  function endAgent(machine: Machine): void {
    machine.agent = undefined;
    for (const cut of [...machine.streams]) cut();
  }

  function loseNode(clusterId: string, rank: number): void {
    const machine = of(clusterId, rank);
    machines.delete(nodeIdOf({ id: clusterId }, rank));
    if (machine !== undefined) turnOff(machine);
  }

  /** The agent answers once its node has booted. */
  function boot(machine: Machine): void {
    clock.after(bootMs, () => {
      const isThere = machines.get(machine.node.id) === machine && machine.state === "running";
      if (isThere) machine.agent ??= openFakeAgent(machine.node);
    });
  }

  function handedIn(machine: Machine, result: unknown): void {
    const { id, submissionId } = result as { id: number; submissionId: string };
    const job = machine.node.jobs.find((one) => one.id === id);
    const seconds = Number(/\d+/.exec(job?.submission.run ?? "")?.[0] ?? 1);
    if (job === undefined || job.text !== "") return;
    job.text = "begun\n";
    watcher.began(submissionId);
    const end = () => {
      if (machine.agent !== undefined) machine.agent.end(id, "SUCCEEDED");
      else if (machine.state === "running") clock.after(bootMs, end);
    };
    clock.after(seconds * 1_000, end);
  }

  const doorOf = (nodeId: string) => {
    const machine = () => machines.get(nodeId);
    return openDoor(network, nodeId, {
      agent: () => ((machine()?.cutOffUntil ?? 0) > clock.now() ? undefined : machine()?.agent),
      streamsOf: () => machine()?.streams,
      answered(name, result) {
        const here = machine();
        if (name === "submit" && here !== undefined) handedIn(here, result);
      },
    });
  };

  const provider: Provider = {
    name: "sim",
    offers: async (need) => (meets(offer, need) ? [offer] : []),
    create: (cluster, rank, signal) =>
      network.call("create", nodeIdOf(cluster, rank), signal, async () => {
        const id = nodeIdOf(cluster, rank);
        const machine = machines.get(id) ?? {
          ...{
            node: aFakeNode(id, ""),
            rank,
            streams: new Set(),
            agent: undefined,
            cutOffUntil: 0,
          },
          state: "running" as const,
        };
        machines.set(id, machine);
        machine.state = "running";
        boot(machine);
      }),
    list: (cluster, signal) =>
      network.call("list", cluster.id, signal, async () =>
        [...machines.values()]
          .filter(({ node }) => clusterOf(node.id) === cluster.id)
          .map(({ node, rank, state }) => ({ id: node.id, rank, state, address: `10.0.0.${rank}` }))
          .sort((a, b) => a.rank - b.rank),
      ),
    destroy: (nodeId, signal) =>
      network.call("destroy", nodeId, signal, async () => {
        const machine = machines.get(nodeId);
        if (machine === undefined) return;
        watcher.ending("destroy", clusterOf(nodeId));
        machines.delete(nodeId);
        turnOff(machine);
      }),
    stop: (nodeId, signal) =>
      network.call("stop", nodeId, signal, async () => {
        const machine = machines.get(nodeId);
        if (machine?.state !== "running") return;
        watcher.ending("stop", clusterOf(nodeId));
        turnOff(machine);
      }),
    door: doorOf,
    endpoint: async (node, port) => `${node.address}:${port}`,
  };

  return {
    provider,
    clusterIds: () => [...new Set([...machines.keys()].map(clusterOf))],
    cutOff(clusterId, rank, forMs) {
      const machine = of(clusterId, rank);
      if (machine === undefined) return;
      machine.cutOffUntil = clock.now() + forMs;
      for (const cut of [...machine.streams]) cut();
    },
    killAgent(clusterId, rank) {
      const machine = of(clusterId, rank);
      if (machine !== undefined) endAgent(machine);
    },
    loseNode,
    preempt(clusterId, rank, inMs) {
      of(clusterId, rank)?.agent?.preempt("taken back", Date.now() + inMs);
      clock.after(inMs, () => loseNode(clusterId, rank));
    },
    becomeIdle(clusterId) {
      const { agent, node } = of(clusterId, 0) ?? {};
      if (agent === undefined || node === undefined || node.autostop.idleMs === null) return;
      if (openOf(node) !== undefined || node.jobs.some(({ status }) => !isOver(status))) return;
      watcher.trace(`idle ${clusterId}`);
      agent.becomeIdle();
    },
    calm() {
      for (const machine of machines.values()) machine.cutOffUntil = 0;
    },
  };
}
