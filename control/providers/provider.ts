import type { Duplex } from "node:stream";
import type { Dispatcher } from "undici";
import type * as z from "zod";
import type { KubernetesNodeInfo } from "../../contract/records/clouds.ts";
import type { KubernetesConfig } from "../../contract/task/config.ts";
import type { Image } from "../../contract/task/image.ts";
import { isWithin } from "../../contract/task/infra.ts";

/** What a task asks of each of its nodes. */
export interface Need {
  /** Where, as the task names it: `local`, `ssh/pool`; undefined is anywhere. */
  infra?: string;
  cpus?: { count: number; orMore: boolean };
  memoryGb?: { count: number; orMore: boolean };
  accelerators?: NeededAccelerators;
  /** Accelerators of any kind; the caller checks their memory. */
  anyAccelerators?: true;
  /** How many machines are wanted together; one where it is left out. */
  nodes?: number;
  /** Its ports are its own, also where nodes share a machine. */
  network?: "own";
  /** Buckets are mounted on them: with any program, with one that writes to S3, or with rclone. */
  mounts?: true | "writes to S3" | "rclone";
  /** Jobs run in an image of theirs. */
  container?: true;
  /** Its ports are reached from outside. */
  reached?: true;
  /** Where they are without accelerators: partitions of Slurm, `cpu,long`. One that `infra` names counts more. */
  cpuPartition?: string;
  /** At the price of one that the cloud may take back at any time; left out is one that stays. */
  isSpot?: true;
  /** Clusters that the same plan has given machines to: those are not free any more. */
  planned?: readonly Planned[];
}

/** A cluster of a plan. */
export interface Planned extends Pick<ClusterRef, "offer" | "nodes"> {
  readonly machine: Pick<Machine, "image" | "reached">;
}

/** So many of a kind, or of any kind with so much memory each. */
export type NeededAccelerators =
  | { name: string; count: number }
  | { memoryGb: { count: number; orMore: boolean }; manufacturer?: string; count: number };

/** A machine type at a price. */
export interface Offer {
  provider: string;
  infra: string;
  region: string | null;
  zone: string | null;
  instanceType: string;
  cpus: number;
  memoryGb: number;
  /** Memory and manufacturer are those of the catalog, where that knows the kind. */
  accelerators: { name: string; count: number; memoryGb?: number; manufacturer?: string } | null;
  dollarsPerHour: number;
  /** A node that shares its machine has ports of its own there. */
  network?: "own";
  /** The cloud may take it back at any time. */
  isSpot?: true;
}

/** The part of a cluster that a provider needs. */
export interface ClusterRef {
  id: string;
  name: string;
  nodes: number;
  offer: Offer;
  machine: Machine;
  /** What users reach from outside: `8080`, `8000-8010`. */
  ports: readonly string[];
  labels: Readonly<Record<string, string>>;
  /** What manages it, such as a `replica` of a service. */
  madeFor?: { readonly noun: string } | null;
  /** Whose it is. */
  user: { readonly id: string; readonly name: string };
}

/** What a task asks of a node besides its size. */
export interface Machine {
  /** What it boots, or runs jobs in; the provider's usual one where it is left out. */
  readonly image?: Image;
  /** Its ports are reached from outside. */
  readonly reached?: true;
  /** The provider's usual size where it is left out. */
  readonly diskGb?: number;
  /** What it has of the disk of a machine that it shares with others. */
  readonly ephemeralStorageGb?: number;
  /** The class that decides whose machine is given to whom. */
  readonly priorityClass?: string;
  /** How long the hooks of a preemption may take together. */
  readonly graceSeconds?: number;
  /** What the registry of its image asks for: a `RegistryLogin`, sealed, as base64. */
  readonly sealedLogin?: string;
  /** Claims of Kubernetes that the task attaches. */
  readonly claims?: readonly string[];
  /** What the task says of pods. */
  readonly kubernetes?: KubernetesConfig | undefined;
  /** `config.slurm` of the task. */
  readonly slurm?: unknown;
}

/** A machine that is there, whatever runs on it. */
export interface MachineNow extends z.output<typeof KubernetesNodeInfo> {
  /** What a scheduler that has jobs wait in partitions says of it. */
  readonly queue?: { readonly state: string; readonly partitions: readonly string[] };
}

/** A node as the provider sees it now. */
export interface NodeState {
  id: string;
  rank: number;
  /** `pending` waits for its machine: in a queue, or until there is capacity. It is not created again. */
  state: "running" | "stopped" | "pending";
  /** Why it is pending, for people. */
  reason?: string;
  /** Why it was ended for good by somebody else; it is not created again for a user. */
  over?: string;
  /**
   * Why it is none any more, for people; what is left of it goes when it is created again, or destroyed. One that is
   * pending comes back by itself, with nothing of what it had.
   */
  gone?: string;
  /** Where other nodes of its cluster reach it. */
  address: string;
}

/** A node that exists, whether control has its cluster or not. */
export interface FoundNode {
  readonly id: string;
  readonly state: NodeState["state"];
  /** The cluster that it belongs to; null where the node does not say. */
  readonly cluster:
    | (Pick<ClusterRef, "name" | "nodes" | "offer"> & Partial<Pick<ClusterRef, "machine">>)
    | null;
}

/**
 * Why a provider refuses an offer, which decides how soon it is asked again: it has no capacity there for
 * a while, a quota is used up, or it does not accept the request. Errors of `create` and `prepare` name it in
 * `details.refusal`; a `ResourcesUnavailableError` without it is not remembered beyond the launch.
 */
export type RefusalKind = "capacity" | "quota" | "request";

/**
 * What a cloud must do for us. Every call returns within seconds, may be repeated safely, and
 * throws only AppError: `ResourcesUnavailableError`, `CloudError`, `TimeoutError`. Every provider passes
 * `test/control/providers/contract.ts`.
 */
export interface Provider {
  readonly name: string;
  /** Machines that satisfy `need`, cheapest first; empty when there are none. */
  offers(need: Need, signal: AbortSignal): Promise<Offer[]>;
  /**
   * Called before nodes of a cluster are created, for what they have in common, such as one job of a
   * scheduler for all of them. Repeated, it makes nothing new; whatever it made ends with the last node.
   */
  readonly prepare?: (cluster: ClusterRef, signal: AbortSignal) => Promise<void>;
  /** Nodes may be pending; `stop` and `destroy` take those out of the queue. */
  readonly queues?: true;
  /** Begins to create node `rank`, or to start it again. Repeated, it makes nothing new. */
  create(cluster: ClusterRef, rank: number, signal: AbortSignal): Promise<void>;
  /** The cluster's nodes that exist now, by rank: the only truth about nodes. */
  list(cluster: ClusterRef, signal: AbortSignal): Promise<NodeState[]>;
  /** Deletes a node and its disk. One that is gone already is a success. */
  destroy(nodeId: string, signal: AbortSignal): Promise<void>;
  /** The one door to a node: HTTP to its agent. The caller keeps it, and closes it. */
  door(nodeId: string): Dispatcher;
  /**
   * What a caller uses to reach a port of the head from where control runs: `host:port`, or the URL of one whose
   * cluster is no replica of a service.
   */
  endpoint(node: NodeState, port: number): Promise<string>;
  /**
   * A connection to a port of a node, opened on the node itself and open to the caller alone. Absent where
   * `endpoint` answers an address of the node.
   */
  readonly dial?: (node: NodeState, host: string, port: number) => Promise<Duplex>;

  /** What to know of an offer before it is asked for, for people: limits, and when nodes might start. */
  readonly outlook?: (
    offer: Offer,
    asked: Pick<ClusterRef, "nodes" | "machine">,
    signal: AbortSignal,
  ) => Promise<string>;

  /** Its nodes are made of the image that a task names, so that no container runs on them. */
  readonly bootsImages?: true;

  /** Nodes of different clusters may be parts of one machine, and have its ports together. */
  readonly sharesMachines?: true;

  /** How long before it takes a node away the cloud says so; absent where that is not known. */
  readonly noticeSeconds?: number;
  /** The notice that the nodes which a cluster has get, where that was decided when they were made; undefined if there is none. */
  readonly noticeOf?: (cluster: ClusterRef) => Promise<number | undefined>;

  /** Why it can never give what is needed, and what to do; absent where it says nothing. */
  readonly refusal?: (need: Need) => string | undefined;

  /** Whether it may offer what is needed once nothing is taken or away. Absent where `offers` says that. */
  readonly couldOffer?: (need: Need) => Promise<boolean>;

  /**
   * Why machines that it has cannot be given away now: a text for each place, or only for the place of a need.
   * Absent where machines are made for each cluster.
   */
  readonly shortages?: (need?: Need) => Promise<string[]>;

  /** What `infra` may name of it; empty while it has nothing to give, to whomever. Absent is its name. */
  readonly places?: () => Promise<string[]>;

  /**
   * The machines that it has by place, and what is free on them; of one place, or of all. Absent where machines
   * are made for each cluster.
   */
  readonly inspect?: (
    place: string | null,
    signal: AbortSignal,
  ) => Promise<[place: string, machines: MachineNow[]][]>;

  // Powers only some clouds have. Absent means "cannot".
  /** It has spot machines, though none may be left just now. */
  readonly hasSpot?: () => Promise<boolean>;
  readonly stop?: (nodeId: string, signal: AbortSignal) => Promise<void>;
  /**
   * A node is gone at once, with all that runs on it and its disk, as after the cloud took it back: for users
   * who try that. `list` never shows it again until it is created anew.
   */
  readonly takeAway?: (nodeId: string, signal: AbortSignal) => Promise<void>;
  /** Every node of this control plane that exists, from the place itself and not from the database. */
  readonly find?: (signal: AbortSignal) => Promise<FoundNode[]>;
  /** Takes nodes that `find` found as those of their clusters. Absent where their place itself says so. Repeatable. */
  readonly adopt?: (nodes: readonly FoundNode[]) => Promise<void>;
  /** Which agent `create` starts; one that tells another build is replaced. */
  readonly agentBuild?: string;
  /** Ends a node's agent, hung or not, and nothing that it started; `create` starts another. */
  readonly endAgent?: (nodeId: string, signal: AbortSignal) => Promise<void>;
}

/** How many accelerators tasks usually ask for of a machine with so many: one, two, four, ..., and all. */
export const usualCounts = (most: number): number[] => [
  ...[1, 2, 4, 8, 16].filter((count) => count < most),
  most,
];

/** Whether a machine of this offer satisfies what a task asks of each node. */
export function meets(offer: Offer, need: Need): boolean {
  const { infra, cpus, memoryGb, accelerators: wanted } = need;
  if (offer.isSpot !== need.isSpot) return false;
  if (infra !== undefined && !isWithin(offer.infra, infra)) return false;
  if (cpus !== undefined && cpus.count > offer.cpus) return false;
  if (memoryGb !== undefined && memoryGb.count > offer.memoryGb) return false;
  return (
    wanted === undefined || (offer.accelerators !== null && isKind(offer.accelerators, wanted))
  );
}

function isKind(given: NonNullable<Offer["accelerators"]>, wanted: NeededAccelerators): boolean {
  if (given.count < wanted.count) return false;
  if ("name" in wanted) return isSameWord(given.name, wanted.name);
  const { memoryGb, manufacturer } = wanted;
  if (manufacturer !== undefined && !isSameWord(given.manufacturer ?? "", manufacturer))
    return false;
  if (given.memoryGb === undefined) return false;
  return memoryGb.orMore ? given.memoryGb >= memoryGb.count : given.memoryGb === memoryGb.count;
}

const isSameWord = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
