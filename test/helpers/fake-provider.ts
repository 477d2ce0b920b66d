import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openChanges } from "../../common/changes.ts";
import type { AppError } from "../../common/errors.ts";
import { nodeIdOf } from "../../control/doors/node-id.ts";
import { openUnixDoor } from "../../control/doors/unix.ts";
import {
  meets,
  type NodeState,
  type Offer,
  type Provider,
} from "../../control/providers/provider.ts";
import { type FakeAgent, startFakeAgent } from "./fake-agent.ts";
import { aFakeNode, type FakeNode } from "./fake-node.ts";

/** What a test can have go wrong, or wait. */
type Duty = "create" | "stop" | "destroy" | "list";

interface Machine {
  readonly node: FakeNode;
  readonly rank: number;
  state: NodeState["state"];
  agent: FakeAgent | undefined;
}

/** A cloud in memory whose agents answer on real sockets. */
export interface FakeProvider extends Provider {
  /** Calls that changed something, in their order: `create 0`, `destroy 0`. */
  readonly calls: string[];
  readonly machines: ReadonlyMap<string, Machine>;
  offer: Offer | undefined;
  /** Its spot machine; undefined while none is left. */
  spotOffer: Offer | undefined;
  /** Why nodes that are created wait for a machine; undefined gives it to them. */
  waitsFor: string | undefined;
  /** What it offers besides. */
  otherOffers: readonly Offer[];
  /** Has a place refuse nodes from now on, or those from a rank on; undefined mends it. */
  refuses(infra: string, error: AppError | undefined, fromRank?: number): void;
  /** Whether a node that is created has an agent that answers. */
  agentsStart: boolean;
  /** Has a duty fail from now on; undefined mends it. */
  fails(duty: Duty, error: AppError | undefined): void;
  /** Has a duty wait until the returned function is called. */
  holds(duty: Duty): () => void;
  /** Resolves once a call of the duty waits. */
  held(duty: Duty): Promise<void>;
  /** Resolves once node `rank` of any cluster is there. */
  created(rank: number): Promise<void>;
  agentOf(clusterId: string, rank?: number): FakeAgent;
  /** The node is gone, as after a preemption. */
  lose(clusterId: string, rank: number): Promise<void>;
  /** The node stays, its agent is gone. */
  silence(clusterId: string, rank: number): Promise<void>;
  close(): Promise<void>;
}

interface Hold {
  readonly released: Promise<void>;
  readonly reached: PromiseWithResolvers<void>;
}

const anOffer: Offer = {
  provider: "fake",
  infra: "fake",
  region: "here",
  zone: null,
  instanceType: "small",
  cpus: 4,
  memoryGb: 16,
  accelerators: { name: "H100", count: 8 },
  dollarsPerHour: 2,
};

const aSpotOffer: Offer = { ...anOffer, dollarsPerHour: 0.5, isSpot: true };

export interface FakeProviderOptions {
  /** Leaves the power to stop nodes out. */
  readonly cannotStop?: boolean;
  /** How long before it takes a node away it says so. */
  readonly noticeSeconds?: number;
  /** Takes machines away for users who try that. */
  readonly takesAway?: boolean;
  /** Has spot machines as well. */
  readonly hasSpot?: boolean;
}

/** Opens a cloud whose sockets lie in a folder. */
export function openFakeProvider(folder: string, options: FakeProviderOptions = {}): FakeProvider {
  const machines = new Map<string, Machine>();
  const failures = new Map<Duty, AppError>();
  const refusals = new Map<string, { error: AppError; fromRank: number }>();
  const holds = new Map<Duty, Hold>();
  const calls: string[] = [];
  const made = openChanges();
  const socketOf = (nodeId: string) => join(folder, `${nodeId}.sock`);

  async function duty(name: Duty, subject: string, signal: AbortSignal): Promise<void> {
    if (name !== "list") calls.push(`${name} ${subject}`);
    const hold = holds.get(name);
    hold?.reached.resolve();
    if (hold !== undefined) await Promise.race([hold.released, aborted(signal)]);
    signal.throwIfAborted();
    const failure = failures.get(name);
    if (failure !== undefined) throw failure;
  }

  async function turnOff(machine: Machine): Promise<void> {
    const { agent } = machine;
    machine.agent = undefined;
    machine.state = "stopped";
    await agent?.close();
  }

  const provider: FakeProvider = {
    name: "fake",
    ...(options.noticeSeconds !== undefined && { noticeSeconds: options.noticeSeconds }),
    ...(options.hasSpot === true && { hasSpot: async () => true }),
    calls,
    machines,
    offer: anOffer,
    spotOffer: options.hasSpot === true ? aSpotOffer : undefined,
    waitsFor: undefined,
    otherOffers: [],
    agentsStart: true,
    offers: async (need) =>
      [provider.offer, provider.spotOffer, ...provider.otherOffers].flatMap((offer) =>
        offer !== undefined && meets(offer, need) ? [offer] : [],
      ),
    couldOffer: async (need) => meets(anOffer, need),
    async create(cluster, rank, signal) {
      await duty("create", String(rank), signal);
      const refusal = refusals.get(cluster.offer.infra);
      if (refusal !== undefined && rank >= refusal.fromRank) throw refusal.error;
      const id = nodeIdOf(cluster, rank);
      const known = machines.get(id);
      const machine = known ?? {
        node: aFakeNode(id, socketOf(id)),
        rank,
        state: "running",
        agent: undefined,
      };
      machines.set(id, machine);
      machine.state = "running";
      if (provider.agentsStart && provider.waitsFor === undefined)
        machine.agent ??= await startFakeAgent(machine.node);
      made.notify(String(rank));
    },
    async list(cluster, signal) {
      await duty("list", cluster.name, signal);
      return [...machines.values()]
        .filter(({ node }) => node.id.startsWith(`${cluster.id}-`))
        .map(({ node, rank, state, agent }) => {
          const { waitsFor: reason } = provider;
          const seen = { id: node.id, rank, state, address: `10.0.0.${rank}` };
          const isPending = reason !== undefined && agent === undefined && state === "running";
          return isPending ? { ...seen, state: "pending" as const, reason } : seen;
        })
        .sort((a, b) => a.rank - b.rank);
    },
    async destroy(nodeId, signal) {
      await duty("destroy", nodeId.split("-")[1] ?? "", signal);
      const machine = machines.get(nodeId);
      machines.delete(nodeId);
      if (machine !== undefined) await turnOff(machine);
    },
    ...(options.cannotStop !== true && {
      async stop(nodeId, signal) {
        await duty("stop", nodeId.split("-")[1] ?? "", signal);
        const machine = machines.get(nodeId);
        if (machine !== undefined) await turnOff(machine);
      },
    }),
    ...(options.takesAway === true && {
      async takeAway(nodeId) {
        calls.push(`takeAway ${nodeId.split("-")[1] ?? ""}`);
        const machine = machines.get(nodeId);
        machines.delete(nodeId);
        if (machine !== undefined) await turnOff(machine);
      },
    }),
    door: (nodeId) => openUnixDoor(socketOf(nodeId)),
    endpoint: async (node, port) => `${node.address}:${port}`,
    fails(name, error) {
      if (error === undefined) failures.delete(name);
      else failures.set(name, error);
    },
    refuses(infra, error, fromRank = 0) {
      if (error === undefined) refusals.delete(infra);
      else refusals.set(infra, { error, fromRank });
    },
    holds(name) {
      const { promise: released, resolve } = Promise.withResolvers<void>();
      holds.set(name, { released, reached: Promise.withResolvers<void>() });
      return () => {
        holds.delete(name);
        resolve();
      };
    },
    held: (name) => holds.get(name)?.reached.promise ?? Promise.resolve(),
    created: async (rank) => {
      const look = async () => [...machines.values()].some((one) => one.rank === rank) || undefined;
      await made.until(String(rank), look, AbortSignal.timeout(60_000));
      // Whoever had it created knows that as well.
      await setImmediate();
    },
    agentOf(clusterId, rank = 0) {
      const agent = machines.get(nodeIdOf({ id: clusterId }, rank))?.agent;
      if (agent === undefined) throw new Error(`no agent on node ${rank} of ${clusterId}`);
      return agent;
    },
    async lose(clusterId, rank) {
      const machine = machines.get(nodeIdOf({ id: clusterId }, rank));
      machines.delete(nodeIdOf({ id: clusterId }, rank));
      if (machine !== undefined) await turnOff(machine);
    },
    async silence(clusterId, rank) {
      const machine = machines.get(nodeIdOf({ id: clusterId }, rank));
      const agent = machine?.agent;
      if (machine !== undefined) machine.agent = undefined;
      await agent?.close();
    },
    async close() {
      await Promise.all([...machines.values()].map(turnOff));
    },
  };
  return provider;
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
