import type { HostFacts } from "../doors/ssh/probe.ts";
import type { SshTarget } from "../doors/ssh/target.ts";
import type { Need } from "../providers/provider.ts";
import type { HostEntry } from "./document.ts";

/** A machine of a pool, by the name that the pool's document gives it. */
export interface HostRef {
  readonly pool: string;
  readonly name: string;
}

/** What is known of a host. Instants are epoch milliseconds. */
export interface Host extends HostRef {
  /** Where it was found, and the way there; null before the first look. */
  machine: string | null;
  facts: HostFacts | null;
  /** Why it cannot be used. */
  problem: string | null;
  /** It takes no new cluster. */
  isDraining: boolean;
  /** Something of ours may be there that nobody needs any more. */
  isDirty: boolean;
  lookedAt: number | null;
  deployedAt: number | null;
}

/** A host that clusters can be given. */
export interface ReadyHost extends Host {
  machine: string;
  facts: HostFacts;
}

/** A host as a node of a cluster; `claimed` until its agent was first started. */
export interface HostNode {
  clusterId: string;
  clusterName: string;
  rank: number;
  host: HostRef;
  state: "claimed" | "running" | "stopped";
}

/** What is still ours on a machine that its pool reaches no more, or in another way. */
export interface Leftover extends HostRef {
  /** Whose home it is in, and where: `ana@[10.0.0.5]:22`. */
  readonly id: string;
  readonly machine: string;
  /** How to log in there. */
  readonly entry: HostEntry;
  readonly facts: HostFacts;
  /** Why it was not removed when that was last tried. */
  readonly problem: string | null;
  readonly leftAt: number;
  readonly triedAt: number;
}

/** Who has which host; each has at most one node. */
export interface HostBook {
  listPools(): Promise<string[]>;
  listHosts(): Promise<Host[]>;
  /** Hosts that are deployed, well and nobody's. */
  listFree(): Promise<ReadyHost[]>;
  /** Each pool of which no host, or none with what runs containers, is free, and how its hosts are. */
  listShortages(need?: Need): Promise<string[]>;
  /** The cluster's nodes, by rank. */
  nodesOf(clusterId: string): Promise<HostNode[]>;
  /** The node with an id such as `<cluster>-<rank>`, and what is known of its host. */
  find(nodeId: string): Promise<{ node: HostNode; host: Host } | undefined>;
  /** Gives the cluster hosts for all ranks that have none, as `choose` picks them, or none at all. */
  claim(
    cluster: { id: string; name: string; nodes: number },
    choose: (free: ReadyHost[], count: number) => ReadyHost[],
  ): Promise<void>;
  setState(node: HostNode, state: HostNode["state"]): Promise<void>;
  /** Takes the host back; a dirty one is nobody's until it was cleaned. */
  release(node: HostNode, isDirty: boolean): Promise<void>;
  /** Takes a host as the node that it is found to be. Repeatable. */
  adopt(node: HostNode, machine: string): Promise<void>;
  /** Keeps why a host cannot be used; null when nothing stands in the way any more. */
  setProblem(host: HostRef, problem: string | null): Promise<void>;
  /** How to log in on a host; throws why that cannot be told. */
  targetOf(host: HostRef): Promise<SshTarget>;
}

/** Whether clusters can be given this host, as far as it alone is concerned. */
export const isReady = (host: Host): host is ReadyHost =>
  host.facts !== null &&
  host.machine !== null &&
  host.problem === null &&
  host.deployedAt !== null &&
  !host.isDraining &&
  !host.isDirty;

export const contextPrefix = "ssh-";

/** What clients call a pool among the contexts of clusters. */
export const contextOf = (pool: string): string => `${contextPrefix}${pool}`;
