import { departure, endOfStop } from "./lifecycles/plan.ts";
import type { StoredLifecycle } from "./lifecycles/schema.ts";
import {
  type Action,
  headOf,
  isOn,
  isPending,
  isRunning,
  moveTo,
  type Observed,
  ofHead,
  type Step,
  stopOf,
  whyPending,
} from "./planning.ts";
import type { Cluster, Wanted } from "./schema.ts";

/** `open` are the lifecycles that are known to be under way, `at` is now, by the steady clock. */
type Plan = (
  cluster: Cluster,
  nodes: Observed[],
  open: readonly StoredLifecycle[],
  at: number,
) => Step[];

/** What to do next, by what is wanted. Pure, and complete: a wish without a plan does not compile. */
export const plans: Record<Wanted, Plan> = {
  UP: (cluster, seen, open) => {
    const over = seen.find((node) => node.over !== undefined)?.over;
    if (over !== undefined && cluster.madeFor === null)
      return [[{ do: "want", wanted: "GONE", because: over }]];
    const isReplacedWhole = cluster.everUp && cluster.madeFor?.isReplacedWhole;
    const comesBack = ({ state }: Observed) => state === "pending" && !isReplacedWhole;
    const nodes = seen.filter(
      (node) => node.over === undefined && (node.gone === undefined || comesBack(node)),
    );
    const why = seen.flatMap((node) => (node.gone === undefined ? [] : `: ${node.gone}`))[0] ?? "";
    if (cluster.status === "STOPPED") return moveTo(cluster, "INIT", cluster.wantedBecause);
    const left = open.filter(({ status }) => status === "LEAVING").map(({ rank }) => rank);
    if (left.length > 0) return [[{ do: "endLifecycles", ranks: left }]];
    if (wentByItself(cluster, nodes, open)) return [[goneByItself(cluster, nodes)]];
    if (cluster.placement?.isRefused) return leaveOffer(nodes);
    const pending = nodes.filter(isPending);
    const gone = ranksOf(cluster).filter((rank) => !nodes.some((node) => node.rank === rank));
    if (gone.length > 0 && isReplacedWhole)
      return moveTo(cluster, "INIT", `${listOf(gone)} gone${why}`);
    const isMissing = (rank: number) =>
      !isRunning(nodes, rank) && !pending.some((node) => node.rank === rank);
    const missing = ranksOf(cluster).filter(isMissing);
    if (missing.length > 0)
      return [
        ...moveTo(cluster, "INIT", `${listOf(missing)} not running${why}`),
        ...endingOf(open, missing),
        missing.map((rank) => ({ do: "create", rank })),
      ];
    if (pending.length > 0)
      return [...moveTo(cluster, "INIT", "it waits for a machine"), awaitMachines(pending)];
    const needed = [repair, compare, release].map((look) => look(nodes, open, cluster));
    return needed.find((step) => step.length > 0) ?? moveTo(cluster, "UP", "every node runs");
  },
  STOPPED: (cluster, nodes, open, at) => {
    const stop = stopOf(nodes);
    return (
      departure(cluster, nodes, open, at, stop) ??
      (stop.length > 0 ? stop : moveTo(cluster, "STOPPED", cluster.wantedBecause))
    );
  },
  GONE: (cluster, nodes, open, at) => {
    const end = destructionOf(nodes);
    return (
      departure(cluster, nodes, open, at, end) ??
      endOfStop(cluster, nodes, open) ??
      (end.length > 0 ? end : moveTo(cluster, "GONE", cluster.wantedBecause))
    );
  },
};

const destructionOf = (nodes: readonly Observed[]): Step[] =>
  nodes.length > 0 ? [nodes.map(({ id }) => ({ do: "destroy", nodeId: id }))] : [];

const reasonsTold = 3;

/** What the nodes wait for: those that wait for the same are counted together. */
function awaitMachines(pending: Observed[]): Step {
  const groups = [...Map.groupBy(pending, ({ reason }) => reason)];
  const told = groups.slice(0, reasonsTold).map(([reason, [first, ...others]]) => {
    const more = others.length > 0 ? ` and ${others.length} more` : "";
    return whyPending(`${first?.rank}${more}`, reason);
  });
  const left = groups.slice(reasonsTold).flatMap(([, nodes]) => nodes).length;
  if (left > 0) told.push(`${left} more pending`);
  // Some reasons are whole sentences.
  return [{ do: "await", why: told.join("; ").replaceAll(".; ", "; ") }];
}

/** Nothing stays at an offer that was refused. */
const leaveOffer = (nodes: Observed[]): Step[] =>
  nodes.length > 0 ? destructionOf(nodes) : [[{ do: "failOver" }]];

/** A look at what nodes need that are all there. */
type Look = (nodes: Observed[], open: readonly StoredLifecycle[], cluster: Cluster) => Step[];

/** Agents first, then what they are told: who does not know its place runs nothing, so files come before that. */
const repair: Look = (nodes) => {
  const needs: [
    isNeeded: (node: Observed) => boolean,
    act: "revive" | "replace" | "configure" | "tellHooks",
  ][] = [
    [({ agent }) => agent === "silent", "revive"],
    [({ agent }) => agent === "outdated", "replace"],
    [({ agent }) => agent === "new" || agent === "unset", "configure"],
    [({ knowsHooks }) => !knowsHooks, "tellHooks"],
  ];
  for (const [isNeeded, name] of needs) {
    const found = nodes.filter(isNeeded);
    if (found.length > 0)
      return [...filesFor(found), found.map(({ rank }) => ({ do: name, rank }))];
  }
  return [];
};

/** Nodes that are new have nothing; others have what jobs made of their files. */
function filesFor(nodes: Observed[]): Step[] {
  const ranks = nodes.filter(({ agent }) => agent === "new").map(({ rank }) => rank);
  return ranks.length > 0 ? [[{ do: "bringFiles", ranks }]] : [];
}

/** What a node began or ended that is not written down yet; an idle stop only of a cluster that is up. */
const compare: Look = (nodes, open, { status }) => {
  const news = nodes.filter(({ rank, lifecycle }) => {
    if (lifecycle === null) return open.some((one) => one.rank === rank);
    const isWelcome = lifecycle.events.includes("preemption") || status === "UP";
    return isWelcome && lifecycle.known === "new";
  });
  return news.length > 0 ? [news.map(({ rank }) => ({ do: "adopt", rank }))] : [];
};

/** A stop that is not wanted any more, or that has been. A preemption ends by itself. */
const release: Look = (nodes) => {
  const { id, events = [] } = headOf(nodes)?.lifecycle ?? {};
  const isAsked = events.some((event) => event !== "preemption");
  return id !== undefined && isAsked ? [[{ do: "takeBack", id }]] : [];
};

/** The idle timer turned the head off while nobody was there to do it; only control can end the workers. */
const wentByItself = (
  { status, autostop }: Cluster,
  nodes: Observed[],
  open: readonly StoredLifecycle[],
): boolean => {
  const head = headOf(nodes);
  const isOff = head?.state === "stopped";
  return status === "UP" && autostop !== null && isOff && ofHead(open) === undefined;
};

const goneByItself = ({ autostop }: Cluster, nodes: Observed[]): Action => ({
  do: "want",
  wanted: autostop?.down ? "GONE" : "STOPPED",
  because: nodes.some(isOn)
    ? "was idle: its head turned itself off while control was away, its other nodes stayed on"
    : "was idle and turned itself off while control was away",
});

function endingOf(open: readonly StoredLifecycle[], missing: number[]): Step[] {
  const ranks = missing.filter((rank) => open.some((one) => one.rank === rank));
  return ranks.length > 0 ? [[{ do: "endLifecycles", ranks }]] : [];
}

const ranksOf = ({ nodes }: Cluster): number[] => [...Array(nodes).keys()];

const listOf = (ranks: number[]): string =>
  ranks.length === 1 ? `node ${ranks[0]} is` : `nodes ${ranks.join(", ")} are`;
