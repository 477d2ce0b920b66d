import { agentOperations } from "../../contract/agent-api.ts";
import type { Autostop } from "../../contract/agent-shapes.ts";
import { nodeIdOf } from "../../control/doors/node-id.ts";
import { meets, type Provider } from "../../control/providers/provider.ts";
import { openFakeAgent } from "../helpers/fake-agent.ts";
import { openOf } from "../helpers/fake-lifecycles.ts";
import { type FakeJob, isOver } from "../helpers/fake-node.ts";
import type { Probed } from "./balancers.ts";
import { openDoor, routesOf } from "./door.ts";
import { type HookBegun, openHooks } from "./hooks.ts";
import type { Network } from "./network.ts";
import {
  aMachine,
  endAgent,
  endAll,
  free,
  isLeaving,
  latenessOf,
  loseRank,
  type Machine,
  run,
  terminate,
} from "./nodes.ts";
import { workloadOf } from "./workloads.ts";
import { openZones, type Zones } from "./zones.ts";

/** What the cloud tells of. */
export interface Watcher {
  /** A node is about to be stopped or deleted, by control. */
  ending(how: "stop" | "destroy", clusterId: string): void;
  /** A node is about to be made or turned on, asked for by a process that is there. */
  making(clusterId: string): void;
  /** As `making`, of one that is not there, or not any more. */
  makingNew(clusterId: string): void;
  /** Something is asked for that is so already. */
  repeated(what: string): void;
  /** A job was begun on a node; it is doomed where a machine of it is gone, or about to go. */
  began(job: FakeJob, clusterId: string, isDoomed: boolean): void;
  /** A job was cancelled by control. */
  cancelled(submissionId: string): void;
  /** A machine of a cluster goes down; where it is doomed it does not come back. */
  hurt(clusterId: string, isDoomed: boolean): void;
  trace(line: string): void;
}

/** When a machine is taken away, and when what runs there ends: half-way, if not said. */
export interface Preemption {
  readonly inMs: number;
  readonly endsJobsInMs?: number;
}

/** A cloud in simulated time, and the nodes in it. */
export interface Cloud extends Pick<Zones, "fill" | "queue"> {
  readonly provider: Provider;
  /** The hooks that nodes have begun. */
  readonly hooks: readonly HookBegun[];
  /** How what runs at an address answers a probe. */
  probed: Probed;
  /** What the head of a cluster does once it is idle; undefined where it is off. */
  autostopOf(clusterId: string): Autostop | undefined;
  /** The clusters that machines belong to, or that machines belong to that did not come late. */
  clusterIds(which?: "all" | "in time"): string[];
  /** The clusters of which a node waits for its machine. */
  pendingIds(): string[];
  cutOff(clusterId: string, rank: number, forMs: number): void;
  /** Whatever is on its way to a node or back is late for a while. */
  slowDown(clusterId: string, rank: number, byMs: number, forMs: number): void;
  /** Nothing comes to a node or back for a while; then all of it does, unless it was given up. */
  silence(clusterId: string, rank: number, forMs: number): void;
  /** The agent comes back a while later, however often it is started before. */
  killAgent(clusterId: string, rank: number, awayMs: number): void;
  /** Everything that runs on a node ends; its agent comes back a while later. */
  reboot(clusterId: string, rank: number, awayMs: number): void;
  loseNode(clusterId: string, rank: number): void;
  /** Says on a node that it is taken away, and then does that. */
  preempt(clusterId: string, rank: number, when: Preemption): void;
  /** Has the idle timer of a cluster run out, where it may. */
  becomeIdle(clusterId: string): void;
  /** Faults are over. */
  calm(): void;
}

const bootMs = 1_500;
/** Control may have seen a node so long before it was lost, and act on that. */
const seenWithinMs = 5_000;
const probeTimeoutMs = 10_000;
const routes = routesOf(agentOperations);

export function openCloud(network: Network, watcher: Watcher): Cloud {
  const machines = new Map<string, Machine>();
  const lostAt = new Map<string, number>();
  const { clock } = network;
  const hooks = openHooks(clock);
  const zones = openZones(clock);
  let made = 0;
  const of = (clusterId: string, rank: number) => machines.get(nodeIdOf({ id: clusterId }, rank));
  const clusterOf = (nodeId: string) => nodeId.split("-")[0] ?? "";

  function turnOff(machine: Machine): void {
    machine.state = "stopped";
    endAll(machine);
  }

  function loseNode(clusterId: string, rank: number): void {
    const id = nodeIdOf({ id: clusterId }, rank);
    const machine = machines.get(id);
    machines.delete(id);
    lostAt.set(id, clock.now());
    if (machine === undefined) return;
    watcher.hurt(clusterId, true);
    turnOff(machine);
  }

  function slowDown(clusterId: string, rank: number, byMs: number, forMs: number): void {
    const machine = of(clusterId, rank);
    if (machine !== undefined) machine.late = { byMs, until: clock.now() + forMs };
  }

  function killAgent(machine: Machine | undefined, awayMs: number): void {
    if (machine === undefined) return;
    endAgent(machine);
    machine.agentAwayUntil = clock.now() + awayMs;
    boot(machine);
  }

  function reboot(clusterId: string, rank: number, awayMs: number): void {
    const machine = of(clusterId, rank);
    if (machine?.state !== "running") return;
    watcher.hurt(clusterId, false);
    endAll(machine);
    killAgent(machine, awayMs);
    const head = of(clusterId, 0);
    if (head !== undefined) loseRank(head, rank);
  }

  /** The agent answers once its node has booted. */
  function boot(machine: Machine): void {
    clock.after(Math.max(bootMs, machine.agentAwayUntil - clock.now()), () => {
      const isThere = machines.get(machine.node.id) === machine && machine.state === "running";
      if (!isThere || machine.agent !== undefined) return;
      if (machine.agentAwayUntil > clock.now()) return;
      machine.agent = openFakeAgent(machine.node);
      if (machine.isNewBoot) hooks.rebooted(machine.node, machine.agent);
      machine.isNewBoot = false;
    });
  }

  /** Once its zone has a machine for it. */
  function turnOn(machine: Machine, zone: string | null): void {
    const begin = () => {
      if (machine.state !== "pending" || machines.get(machine.node.id) !== machine) return;
      machine.state = "running";
      boot(machine);
    };
    machine.state = "pending";
    if (!zones.wait(zone, begin)) begin();
  }

  function handedIn(machine: Machine, result: unknown): void {
    const job = machine.node.jobs.find(({ id }) => id === (result as { id: number }).id);
    if (job === undefined || job.text !== "") return;
    run(clock, machine, job);
    const clusterId = clusterOf(machine.node.id);
    const others = [...Array(job.nodes).keys()].map((rank) => of(clusterId, rank));
    watcher.began(job, clusterId, others.some(isLeaving));
  }

  const lateMs = (machine: Machine | undefined) => latenessOf(machine, clock.now());

  function probed(host: string, port: number): string | null {
    const machine = [...machines.values()].find(({ address }) => address === host);
    if (machine?.state !== "running" || machine.cutOffUntil > clock.now()) return "refused";
    if (lateMs(machine) > probeTimeoutMs) return "timeout";
    const job = machine.node.jobs.find(
      ({ status, submission }) => !isOver(status) && submission.env.PORT === String(port),
    );
    return job === undefined ? "refused" : workloadOf(job).answer;
  }

  const doorOf = (nodeId: string) => {
    const machine = () => machines.get(nodeId);
    return openDoor(network, nodeId, {
      ...{ place: "agent", routes },
      bound: () =>
        (machine()?.cutOffUntil ?? 0) > clock.now() ? undefined : machine()?.agent?.bound,
      lateMs: () => lateMs(machine()),
      streamsOf: () => machine()?.streams,
      answered(name, result) {
        const here = machine();
        if (here === undefined) return;
        hooks.tend(here);
        if (name === "submit") handedIn(here, result);
        if (name === "cancelLifecycle") hooks.takenBack((result as { id: string }).id);
        if (name === "cancelJob")
          watcher.cancelled((result as { submissionId: string }).submissionId);
      },
    });
  };

  const provider: Provider = {
    name: "sim",
    queues: true,
    offers: async (need) => zones.offers.filter((offer) => meets(offer, need)),
    create(cluster, rank, signal) {
      const id = nodeIdOf(cluster, rank);
      // It may have booted by the time that this arrives, or be gone.
      const wasUp = machines.get(id)?.agent !== undefined;
      const wasThere = machines.has(id);
      return network.call({ place: "create" }, id, signal, async (isLate) => {
        const { zone } = cluster.offer;
        const known = machines.get(id);
        // On one that is on, the head's agent is started for its hooks.
        const isJustLost = clock.now() - (lostAt.get(id) ?? 0) < seenWithinMs;
        if (!isLate && !isJustLost && known?.state !== "running") watcher.making(cluster.id);
        const isLost = known === undefined && !wasThere && !isJustLost;
        if (!isLate && isLost) watcher.makingNew(cluster.id);
        if (wasUp || known?.state === "pending") watcher.repeated(`create ${id}`);
        if (known?.state !== "running") zones.refuseFull(zone);
        const machine = known ?? aMachine(id, { made: ++made, rank, isLate });
        machines.set(id, machine);
        if (machine.state === "running") boot(machine);
        else if (machine.state === "stopped") turnOn(machine, zone);
      });
    },
    list: (cluster, signal) =>
      network.call({ place: "list" }, cluster.id, signal, async () =>
        [...machines.values()]
          .filter(({ node }) => clusterOf(node.id) === cluster.id)
          .map(({ node, rank, state, address }) => ({
            ...{ id: node.id, rank, state, address },
            ...(state === "pending" && { reason: "its zone has a queue" }),
          }))
          .sort((a, b) => a.rank - b.rank),
      ),
    destroy: (nodeId, signal) =>
      network.call({ place: "destroy" }, nodeId, signal, async () => {
        const machine = machines.get(nodeId);
        if (machine === undefined) return watcher.repeated(`destroy ${nodeId}`);
        watcher.ending("destroy", clusterOf(nodeId));
        machines.delete(nodeId);
        turnOff(machine);
      }),
    stop: (nodeId, signal) =>
      network.call({ place: "stop" }, nodeId, signal, async () => {
        const machine = machines.get(nodeId);
        if (machine === undefined || machine.state === "stopped")
          return watcher.repeated(`stop ${nodeId}`);
        watcher.ending("stop", clusterOf(nodeId));
        turnOff(machine);
      }),
    door: doorOf,
    endpoint: async (node, port) => `${node.address}:${port}`,
  };

  return {
    ...{ provider, probed, hooks: hooks.begun },
    autostopOf: (clusterId) => of(clusterId, 0)?.agent?.node.autostop,
    clusterIds(which = "all") {
      const found = [...machines.values()].filter(({ isLate }) => which === "all" || !isLate);
      return [...new Set(found.map(({ node }) => clusterOf(node.id)))];
    },
    pendingIds: () =>
      [...machines.values()]
        .filter(({ state, isLate }) => state === "pending" && !isLate)
        .map(({ node }) => clusterOf(node.id)),
    cutOff(clusterId, rank, forMs) {
      const machine = of(clusterId, rank);
      if (machine === undefined) return;
      machine.cutOffUntil = clock.now() + forMs;
      for (const cut of [...machine.streams]) cut();
    },
    slowDown,
    silence: (clusterId, rank, forMs) => slowDown(clusterId, rank, Number.POSITIVE_INFINITY, forMs),
    ...{ reboot, loseNode },
    killAgent: (clusterId, rank, awayMs) => killAgent(of(clusterId, rank), awayMs),
    preempt(clusterId, rank, { inMs, endsJobsInMs = inMs / 2 }) {
      const machine = of(clusterId, rank);
      if (machine?.agent !== undefined) watcher.hurt(clusterId, true);
      clock.onNode(() => machine?.agent?.preempt("taken back", Date.now() + inMs));
      if (machine !== undefined) hooks.tend(machine);
      if (machine !== undefined) clock.after(endsJobsInMs, () => terminate(machine));
      clock.after(inMs, () => loseNode(clusterId, rank));
    },
    becomeIdle(clusterId) {
      const machine = of(clusterId, 0);
      const { agent, node } = machine ?? {};
      if (agent === undefined || node === undefined || node.autostop.idleMs === null) return;
      if (openOf(node) !== undefined || node.jobs.some(({ status }) => !isOver(status))) return;
      watcher.trace(`idle ${clusterId}`);
      clock.onNode(() => agent.becomeIdle());
      if (machine !== undefined) hooks.tend(machine);
    },
    ...{ fill: zones.fill, queue: zones.queue },
    calm() {
      zones.calm();
      for (const machine of machines.values()) free(machine);
    },
  };
}
