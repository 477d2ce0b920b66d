import { AppError } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { LeaseRenewal } from "../../contract/agent-shapes.ts";
import { nodeIdOf } from "../../control/doors/node-id.ts";
import { meets, type Provider } from "../../control/providers/provider.ts";
import { openFakeAgent } from "../helpers/fake-agent.ts";
import { openOf } from "../helpers/fake-lifecycles.ts";
import { isOver } from "../helpers/fake-node.ts";
import type { Cloud, Watcher } from "./cloud-shapes.ts";
import { openDoor, routesOf } from "./door.ts";
import { openHooks } from "./hooks.ts";
import { openLeases } from "./leases.ts";
import type { Network } from "./network.ts";
import {
  aMachine,
  answers,
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
import { openZones } from "./zones.ts";

const bootMs = 1_500;
/** Control may have seen a node so long before it was lost, and act on that. */
const seenWithinMs = 5_000;
const probeTimeoutMs = 10_000;
const routes = routesOf(agentOperations);

export function openCloud(network: Network, watcher: Watcher): Cloud {
  const machines = new Map<string, Machine>();
  const lostAt = new Map<string, number>();
  /** Lost, and listed as such until they are made again or deleted, as pods that were evicted are. */
  const remains = new Map<string, Machine>();
  const { clock } = network;
  const hooks = openHooks(clock);
  const zones = openZones(clock);
  let made = 0;
  /** Deleted while they were out of reach. */
  const abandoned = new Map<string, Machine>();
  const of = (clusterId: string, rank: number) => {
    const id = nodeIdOf({ id: clusterId }, rank);
    return machines.get(id) ?? abandoned.get(id);
  };
  const clusterOf = (nodeId: string) => nodeId.split("-")[0] ?? "";
  const listed = () => [...machines.values(), ...remains.values()];
  const isApart = ({ apartUntil }: Machine) => apartUntil > clock.now();
  const headOf = ({ node }: Machine) => of(clusterOf(node.id), 0);
  const leases = openLeases(network, {
    ...watcher,
    headOf,
    tend: (machine) => hooks.tend(machine),
  });

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
    if (lostAt.size % 2 === 1) remains.set(id, machine);
    watcher.hurt(clusterId, true);
    turnOff(machine);
  }

  function slowDown(clusterId: string, rank: number, byMs: number, forMs: number): void {
    Object.assign(of(clusterId, rank) ?? {}, { late: { byMs, until: clock.now() + forMs } });
  }

  function killAgent(machine: Machine | undefined, awayMs: number): void {
    if (machine === undefined) return;
    endAgent(machine);
    // Whatever ends attempts in time is back soon.
    const atMostMs = machine.lease === undefined ? awayMs : Math.min(awayMs, bootMs);
    machine.agentAwayUntil = clock.now() + atMostMs;
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
      const isKnown = [machines, abandoned].some((all) => all.get(machine.node.id) === machine);
      const isThere = isKnown && machine.state === "running";
      if (!isThere || machine.agent !== undefined) return;
      if (machine.agentAwayUntil > clock.now()) return;
      const agent = openFakeAgent(machine.node);
      const renewLease = (renewal: LeaseRenewal) => leases.renew(machine, renewal);
      machine.agent = { ...agent, bound: { ...agent.bound, renewLease } };
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
    if (job === undefined || job.text !== "" || isOver(job.status)) return;
    run(clock, machine, job);
    const clusterId = clusterOf(machine.node.id);
    const others = [...Array(job.nodes).keys()].map((rank) => of(clusterId, rank));
    watcher.began(job, clusterId, others.some(isLeaving));
  }

  function cutOff(clusterId: string, rank: number, forMs: number): Machine | undefined {
    const machine = of(clusterId, rank);
    if (machine === undefined) return undefined;
    machine.cutOffUntil = clock.now() + forMs;
    for (const cut of [...machine.streams]) cut();
    return machine;
  }

  function isolate(...given: Parameters<typeof cutOff>): void {
    const machine = cutOff(...given);
    if (machine?.lease !== undefined) machine.apartUntil = machine.cutOffUntil;
  }

  function abandon(machine: Machine): void {
    abandoned.set(machine.node.id, machine);
    watcher.abandoned(clusterOf(machine.node.id));
    clock.after(machine.apartUntil - clock.now(), () => clean(machine));
  }

  /** It is reached again, and what runs there is ended. */
  function clean(machine: Machine): void {
    abandoned.delete(machine.node.id);
    turnOff(machine);
  }

  /** A provider cannot say of a machine out of reach whether it is there. */
  function requireReach(found: readonly Machine[]): readonly Machine[] {
    if (found.some(isApart)) throw new AppError("CloudError", "a machine is out of reach");
    return found;
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
        if (known !== undefined) requireReach([known]);
        // On one that is on, the head's agent is started for its hooks.
        const isJustLost = clock.now() - (lostAt.get(id) ?? 0) < seenWithinMs;
        if (!isLate && !isJustLost && known?.state !== "running") watcher.making(cluster.id);
        const isLost = known === undefined && !wasThere && !isJustLost;
        if (!isLate && isLost) watcher.makingNew(cluster.id);
        if (wasUp || known?.state === "pending") watcher.repeated(`create ${id}`);
        if (known?.state !== "running") zones.refuseFull(zone);
        remains.delete(id);
        const machine = known ?? aMachine(id, { made: ++made, rank, isLate, isInstead: !isLost });
        machines.set(id, machine);
        if (machine.state === "running") boot(machine);
        else if (machine.state === "stopped") turnOn(machine, zone);
      });
    },
    list: (cluster, signal) =>
      network.call({ place: "list" }, cluster.id, signal, async () =>
        requireReach(listed().filter(({ node }) => clusterOf(node.id) === cluster.id))
          .map(({ node, rank, state, address }) => ({
            ...{ id: node.id, rank, state, address },
            ...(state === "pending" && { reason: "its zone has a queue" }),
            ...(remains.has(node.id) && { gone: "it was evicted" }),
          }))
          .sort((a, b) => a.rank - b.rank),
      ),
    destroy: (nodeId, signal) =>
      network.call({ place: "destroy" }, nodeId, signal, async () => {
        const machine = machines.get(nodeId);
        if (remains.delete(nodeId)) return;
        if (machine === undefined) return watcher.repeated(`destroy ${nodeId}`);
        watcher.ending("destroy", clusterOf(nodeId));
        machines.delete(nodeId);
        if (isApart(machine)) abandon(machine);
        else turnOff(machine);
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
      const found = listed().filter(({ isLate }) => which === "all" || !isLate);
      return [...new Set(found.map(({ node }) => clusterOf(node.id)))];
    },
    pendingIds: () =>
      [...machines.values()]
        .filter(({ state, isLate, isInstead }) => state === "pending" && !isLate && !isInstead)
        .map(({ node }) => clusterOf(node.id)),
    isHeard: (clusterId) =>
      listed().every((one) => clusterOf(one.node.id) !== clusterId || answers(one, clock.now())),
    ...{ cutOff, isolate, slowDown },
    silence: (clusterId, rank, forMs) => slowDown(clusterId, rank, Number.POSITIVE_INFINITY, forMs),
    ...{ reboot, loseNode },
    killAgent: (clusterId, rank, awayMs) => killAgent(of(clusterId, rank), awayMs),
    preempt(clusterId, rank, { inMs, endsJobsInMs = inMs / 2 }) {
      const machine = of(clusterId, rank);
      if (machine?.agent !== undefined) watcher.hurt(clusterId, true);
      clock.onNode(() => machine?.agent?.preempt("taken back", Date.now() + inMs));
      if (machine !== undefined) hooks.tend(machine);
      if (machine !== undefined) clock.after(endsJobsInMs, () => terminate(machine));
      clock.after(inMs, () => {
        loseNode(clusterId, rank);
        if (machine !== undefined) turnOff(machine);
      });
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
      for (const machine of abandoned.values()) clean(machine);
    },
  };
}
