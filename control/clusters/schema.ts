import { fail } from "../../common/errors.ts";
import type { Autostop, Health, Idle, NodeSettings } from "../../contract/agent-shapes.ts";
import type { Hook, HookEvent } from "../../contract/hooks.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import type { Resources } from "../../contract/task/resources.ts";
import type { Machine, Need, NodeState, Offer } from "../providers/provider.ts";
import type { Failure, User } from "../requests/schema.ts";

/** What a cluster should be; the reconciler brings it there. */
export type Wanted = "UP" | "STOPPED" | "GONE";

/** What a request wished of a cluster; a second attempt does not wish again. */
export interface Wish {
  readonly clusterId: string;
  /** The cluster was made for it. */
  readonly isNew?: boolean;
  /** How much of the provisioning log the request need not show: what was there before. */
  readonly printed: number;
  /** The newest event before: it is enough that the cluster came to be as wished after it. */
  readonly after?: number;
}

/** When a cluster stops by itself. */
export interface AutostopSetting {
  idleMinutes: number;
  down: boolean;
  waitFor: Autostop["waitFor"];
  /** The older way to write a hook: it runs before those of the list. */
  hook: AutostopHook | null;
}

export type AutostopHook = Pick<Hook, "run" | "timeoutSeconds">;

/** What a cluster is there for that no user launched: the row that looks after it. */
export interface MadeFor {
  /** For people: `service chat`. */
  readonly what: string;
  readonly noun: string;
  readonly id: string;
  /** Of a lost node that row makes no use: it has the whole cluster replaced. */
  readonly isReplacedWhole?: true;
}

/** What is asked of the machines of a cluster. */
export interface Asked
  extends Pick<Need, "network" | "isSpot" | "mounts" | "planned" | "cpuPartition" | "reached"> {
  readonly resources: Pick<Resources, "choose" | "candidates">;
  readonly nodes: number;
  /** Where it ran before, and whether that place is tried before all others or behind them. */
  readonly near?: { readonly infra: string; readonly tried: "first" | "last" };
}

/** The same with the workspace whose rules say where machines may be. */
export interface AskedIn extends Asked {
  readonly workspace: string;
}

/** How a cluster that was never up is given machines: offer after offer, until one is not refused. */
export interface Placement {
  readonly asked: Asked;
  /** The current offer was refused: what exists of it is deleted, then the next one is tried. */
  readonly isRefused: boolean;
  /** The offers that refused the cluster, in the order in which they were tried. */
  readonly tried: readonly TriedOffer[];
  /** When the list was begun anew: earlier refusals do not count. */
  readonly since: number;
}

export interface TriedOffer {
  readonly offer: Offer;
  readonly why: string;
}

/** A named set of nodes that live and die together. Instants are epoch milliseconds. */
export interface Cluster {
  id: string;
  name: string;
  status: ClusterStatus;
  wanted: Wanted;
  /** Who or what wants that, for people: `stop by ann`. */
  wantedBecause: string;
  /** No hook shall hold that up. */
  skipHooks: boolean;
  user: User;
  workspace: string;
  /** Null where a user launched it. */
  madeFor: MadeFor | null;
  provider: string;
  nodes: number;
  offer: Offer;
  /** One a node, by rank; empty until it was up. */
  machine: Machine;
  addresses: string[];
  ports: string[];
  labels: Record<string, string>;
  /** The task of the latest launch, without its secrets. */
  taskYaml: string;
  command: string;
  /** Null: it never stops by itself. */
  autostop: AutostopSetting | null;
  /** Another one with each change of the hooks; null before the first launch that had any. */
  hooksVersion: string | null;
  /** Why the last attempt to reach what is wanted failed; null when none did. */
  problem: Failure | null;
  /** Null once it was up: it keeps its machines, whatever else there is. */
  placement: Placement | null;
  everUp: boolean;
  launchedAt: number;
  statusChangedAt: number;
}

/** A cluster in a list. Tasks may be long: they are read only where they are shown, and placements never. */
export type ListedCluster = Omit<Cluster, "taskYaml" | "placement"> & {
  readonly taskYaml?: string;
};

const minuteMs = 60_000;
const namePattern = /^[a-zA-Z]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$/;
const nameAtMost = 120;

/** Whether a text may name a cluster. */
export const isClusterName = (text: string): boolean =>
  text.length <= nameAtMost && namePattern.test(text);

/** Throws `InvalidClusterNameError` for a text that may not name a cluster. */
export function checkClusterName(text: string): void {
  if (isClusterName(text)) return;
  fail(
    "InvalidClusterNameError",
    `${JSON.stringify(text)} cannot name a cluster: begin with a letter, end with a letter or ` +
      `digit, use letters, digits, - _ and . in between, ${nameAtMost} at most`,
  );
}

/** The key that wakes those who wait for a cluster. */
export const clusterKey = (id: string): string => `cluster:${id}`;

/** How the agents of a cluster's nodes are told about autostop. */
export const agentAutostop = ({ autostop }: Cluster): Autostop =>
  autostop === null
    ? { idleMs: null, down: false, waitFor: "jobs_and_ssh" }
    : {
        idleMs: autostop.idleMinutes * minuteMs,
        down: autostop.down,
        waitFor: autostop.waitFor,
      };

/** Whether a cluster is on its way to what is wanted, so that others have to wait. */
export function isChanging({ status, wanted }: Pick<Cluster, "status" | "wanted">): boolean {
  return status !== wanted;
}

/** Whether a cluster is on its way to something else than up; one that is idle may be, any moment. */
export const isLeaving = (cluster: Pick<Cluster, "status" | "wanted">): boolean =>
  isChanging(cluster) && (cluster.wanted !== "UP" || cluster.status === "AUTOSTOPPING");

/** Whose hooks run before what is wanted of a cluster that is left. */
export const eventOf = ({ wanted }: Pick<Cluster, "wanted">): HookEvent =>
  wanted === "GONE" ? "down" : "stop";

/** The machines of a cluster in a few words: `2x(cpus=4, mem=16, H100:8)`. */
export function resourcesText({ nodes, offer }: Pick<Cluster, "nodes" | "offer">): string {
  const { cpus, memoryGb, accelerators } = offer;
  const parts = [`cpus=${cpus}`, `mem=${memoryGb}`];
  if (accelerators !== null) parts.unshift(`${accelerators.name}:${accelerators.count}`);
  return `${nodes}x(${parts.join(", ")})`;
}

/** What a node is told about itself. */
export function settingsOf(
  cluster: Cluster,
  rank: number,
  nodes: readonly NodeState[],
): NodeSettings {
  const { offer } = cluster;
  const { accelerators } = offer;
  return {
    clusterId: cluster.id,
    clusterName: cluster.name,
    rank,
    addresses: nodes.map(({ address }) => address),
    cloud: offer.provider,
    region: offer.region,
    zone: offer.zone,
    cpus: offer.cpus,
    accelerators: accelerators && { name: accelerators.name, count: accelerators.count },
  };
}

/** Keeps an ear on the agents of clusters that are on: one held response a node. */
export interface Watches {
  /** Listens to the cluster's nodes until it is stopped or gone; `health` has what they answered just now, by rank. */
  keep(cluster: Cluster, health?: ReadonlyMap<number, Health>): void;
  has(clusterId: string): boolean;
  /** What the idle timer of a cluster with autostop saw when its head last told of something. */
  idleOf(clusterId: string): Idle | undefined;
  /** Keeps what an idle timer was heard to see. */
  noteIdle(clusterId: string, idle: Idle | undefined): void;
  forget(clusterId: string): void;
  stop(): Promise<void>;
}
