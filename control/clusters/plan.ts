import type { ClusterStatus } from "../../contract/statuses.ts";
import type { Cluster, Wanted } from "./schema.ts";

/** A node as the provider and its agent tell of it. */
export interface Observed {
  id: string;
  rank: number;
  state: "running" | "stopped";
  address: string;
  /** `outdated` runs other code than ours; `unset` does not know its place; `off` was not asked. */
  agent: "well" | "unset" | "outdated" | "silent" | "off";
}

export type Action =
  | { do: "move"; to: ClusterStatus; reason: string }
  | { do: "create"; rank: number }
  | { do: "revive"; rank: number }
  | { do: "replace"; rank: number }
  | { do: "configure"; rank: number }
  | { do: "endJobs" }
  | { do: "stop"; nodeId: string }
  | { do: "destroy"; nodeId: string };

/** Actions that go side by side. */
export type Step = Action[];
type Plan = (cluster: Cluster, nodes: Observed[]) => Step[];

/** What to do next, by what is wanted. Pure, and complete: a wish without a plan does not compile. */
export const plans: Record<Wanted, Plan> = {
  UP: (cluster, nodes) => {
    if (cluster.status === "STOPPED") return moveTo(cluster, "INIT", cluster.wantedBecause);
    const missing = ranksOf(cluster).filter((rank) => !isRunning(nodes, rank));
    if (missing.length > 0)
      return [
        ...moveTo(cluster, "INIT", `${listOf(missing)} not running`),
        missing.map((rank) => ({ do: "create", rank })),
      ];
    const silent = nodes.filter(({ agent }) => agent === "silent");
    if (silent.length > 0) return [silent.map(({ rank }) => ({ do: "revive", rank }))];
    const outdated = nodes.filter(({ agent }) => agent === "outdated");
    if (outdated.length > 0) return [outdated.map(({ rank }) => ({ do: "replace", rank }))];
    const unset = nodes.filter(({ agent }) => agent === "unset");
    if (unset.length > 0) return [unset.map(({ rank }) => ({ do: "configure", rank }))];
    return moveTo(cluster, "UP", "every node runs");
  },
  STOPPED: (cluster, nodes) =>
    nodes.some(isOn)
      ? [[{ do: "endJobs" }], nodes.map(({ id }) => ({ do: "stop", nodeId: id }))]
      : moveTo(cluster, "STOPPED", cluster.wantedBecause),
  GONE: (cluster, nodes) =>
    nodes.length > 0
      ? [
          ...(nodes.some(isOn) ? [[{ do: "endJobs" } as const]] : []),
          nodes.map(({ id }) => ({ do: "destroy", nodeId: id })),
        ]
      : moveTo(cluster, "GONE", cluster.wantedBecause),
};

const isOn = ({ state }: Observed): boolean => state === "running";

const ranksOf = ({ nodes }: Cluster): number[] => [...Array(nodes).keys()];

const isRunning = (nodes: Observed[], rank: number): boolean =>
  nodes.some((node) => node.rank === rank && isOn(node));

const listOf = (ranks: number[]): string =>
  ranks.length === 1 ? `node ${ranks[0]} is` : `nodes ${ranks.join(", ")} are`;

/** A step, or none where the cluster is there already. */
const moveTo = (cluster: Cluster, to: ClusterStatus, reason: string): Step[] =>
  cluster.status === to ? [] : [[{ do: "move", to, reason }]];
