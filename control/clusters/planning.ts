import type { Health } from "../../contract/agent-shapes.ts";
import type { ClusterStatus } from "../../contract/statuses.ts";
import type { NodeState } from "../providers/provider.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import type { Cluster, Wanted } from "./schema.ts";

/** A node as the provider and its agent tell of it. */
export interface Observed {
  id: string;
  rank: number;
  state: NodeState["state"];
  /** Why it is pending. */
  reason?: string;
  over?: string;
  gone?: string;
  address: string;
  /** `outdated` runs other code than ours; `new` was never told its place, `unset` another; `off` was not asked. */
  agent: "well" | "new" | "unset" | "outdated" | "silent" | "off";
  /** It has the hooks of the cluster as they now are. */
  knowsHooks: boolean;
  lifecycle: LedLifecycle | null;
}

/** What an agent leads, and whether that is written down: as under way, or as over. */
export type LedLifecycle = NonNullable<Health["lifecycle"]> & { known: "new" | "open" | "over" };

export type Action =
  | { do: "move"; to: ClusterStatus; reason: string }
  | { do: "want"; wanted: Wanted; because: string }
  | { do: "create"; rank: number }
  | { do: "failOver" }
  | { do: "await"; why: string }
  | { do: "revive"; rank: number }
  | { do: "replace"; rank: number }
  | { do: "bringFiles"; ranks: number[] }
  | { do: "configure"; rank: number }
  | { do: "tellHooks"; rank: number }
  | { do: "adopt"; rank: number }
  | { do: "takeBack"; id: string }
  | { do: "endLifecycles"; ranks: number[] }
  | { do: "skipHooks"; rank: number; id: string }
  | { do: "rouseHead"; replaces: boolean }
  | { do: "tellHead" }
  | { do: "begin" }
  | { do: "fetchLogs" }
  | { do: "leave" }
  | { do: "leaveWithout"; why: string }
  | { do: "stop"; nodeId: string }
  | { do: "destroy"; nodeId: string };

/** What an action answers that cannot be done yet: the next pass goes on with it. */
export const later = "later";

/**
 * What an action answers after which no node runs and no agent has anything to tell: it waits for machines, or all are
 * gone.
 */
export const waiting = "waiting";

/** What an action answers whose agent went away after it had answered: another look finds it so. */
export const lost = "lost";

/** What an action answers whose offer was refused: another one is tried next. */
export const refused = "refused";

/** Actions that go side by side. */
export type Step = Action[];

/** The node that leads a cluster, if there is one. */
export const headOf = (nodes: Observed[]): Observed | undefined =>
  nodes.find(({ rank }) => rank === 0);

/** What is under way at the head. */
export const ofHead = (open: readonly StoredLifecycle[]): StoredLifecycle | undefined =>
  open.find(({ rank }) => rank === 0);

export const isOn = ({ state }: Observed): boolean => state === "running";

/** Neither there nor missing. */
export const isPending = ({ state }: Observed): boolean => state === "pending";

export const isRunning = (nodes: Observed[], rank: number): boolean =>
  nodes.some((node) => node.rank === rank && isOn(node));

/** Has the nodes stopped that are on, or may come to be; no step where none is. */
export function stopOf(nodes: readonly Observed[]): Step[] {
  const on = nodes.filter((node) => isOn(node) || isPending(node));
  return on.length > 0 ? [on.map(({ id }) => ({ do: "stop", nodeId: id }))] : [];
}

/** A step, or none where the cluster is there already. */
export const moveTo = (cluster: Cluster, to: ClusterStatus, reason: string): Step[] =>
  cluster.status === to ? [] : [[{ do: "move", to, reason }]];

/** What actions do, for people; those that are left out say nothing by themselves. */
const words: Partial<Record<Action["do"], string>> = {
  create: "creates",
  revive: "starts the agent of",
  replace: "replaces the agent of",
  bringFiles: "brings files to",
  configure: "configures",
  tellHooks: "brings hooks to",
  rouseHead: "starts",
  begin: "begins to leave",
  fetchLogs: "fetches the logs of hooks from",
  stop: "stops",
  destroy: "deletes",
};

/** The steps of a plan in a few words: `creates node 0, node 1`. */
export function describeSteps(steps: readonly Step[]): string {
  const said = steps.flatMap((step) => {
    const [first] = step;
    const word = first && words[first.do];
    return word === undefined ? [] : [`${word} ${[...new Set(step.flatMap(nodesOf))].join(", ")}`];
  });
  return said.join(", then ") || "checks its nodes";
}

function nodesOf(action: Action): string[] {
  if ("ranks" in action) return action.ranks.map((rank) => `node ${rank}`);
  if ("nodeId" in action) return [`node ${action.nodeId.split("-").at(-1)}`];
  return "rank" in action ? [`node ${action.rank}`] : ["the head"];
}

/** Where steps that make nodes, or bring anything there, have their turn. */
export const makingLane = ({ provider }: Pick<Cluster, "provider">): string => `${provider} makes`;

/** What is told of a cluster whose nodes wait for machines. */
export const whyPending = (nodes: string, reason = "no machine yet"): string =>
  `node ${nodes} pending: ${reason}`;

/** Whether that is what was told. */
export const tellsPending = (told: string): boolean => /^node [^:]* pending: /.test(told);
