import type { HookEvent } from "../../../contract/hooks.ts";
import { lossOf, preemptionsBeside } from "../hooks/time.ts";
import {
  headOf,
  isOn,
  isRunning,
  type LedLifecycle,
  moveTo,
  type Observed,
  ofHead,
  type Step,
  stopOf,
} from "../planning.ts";
import { type Cluster, eventOf } from "../schema.ts";
import type { StoredLifecycle } from "./schema.ts";

/** What comes before the provider is called, and then `calls`, which call it; undefined where only these are left. */
export function departure(
  cluster: Cluster,
  nodes: Observed[],
  open: readonly StoredLifecycle[],
  at: number,
  calls: readonly Step[],
): Step[] | undefined {
  if (isReleased(cluster, open)) return undefined;
  const { name, status, skipHooks } = cluster;
  if (status === "STOPPED")
    return [...leaveWithout(`hooks skipped: cluster ${name} is stopped`), ...calls];
  const beside = preemptionsBeside(open, at).filter(({ rank }) => isRunning(nodes, rank));
  const untold = beside.filter(({ skipsHooks }) => skipHooks && !skipsHooks);
  if (untold.length > 0) return [untold.map(({ rank, id }) => ({ do: "skipHooks", rank, id }))];
  const steps = stepsOfHead(cluster, headOf(nodes), open);
  if (beside.length > 0 && !skipHooks) return steps.filter((step) => !isFarewell(step));
  return steps.some(isFarewell) ? [...steps, ...calls] : steps;
}

/** Whether nothing is left to wait for: there was nothing to save, or the provider was called. */
export const isReleased = (
  { everUp, status, wanted }: Cluster,
  open: readonly StoredLifecycle[],
): boolean => !everUp || status === wanted || ofHead(open)?.status === "LEAVING";

/** What the head leads to its end, or a way around a head that cannot. */
function stepsOfHead(
  cluster: Cluster,
  head: Observed | undefined,
  open: readonly StoredLifecycle[],
): Step[] {
  const { name, skipHooks } = cluster;
  if (head === undefined || !isOn(head)) return leaveWithout(whyOff(cluster, head, open));
  if (head.agent === "silent" && skipHooks)
    return leaveWithout(
      lossOf(ofHead(open), {
        whenRunning: `the head of ${name} was last heard, and is not waited for`,
        otherwise: `the head of ${name} does not answer`,
      }),
    );
  if (head.agent === "silent" || head.agent === "outdated")
    return [[{ do: "rouseHead", replaces: head.agent === "outdated" }]];
  if (head.agent === "new") return leaveWithout(whyNew(cluster, open));
  return nextOfHead(cluster, head, open);
}

/** An agent that nobody came to turns its node off by itself once the hooks of an idle stop are over. */
const whyOff = (
  { name }: Cluster,
  head: Observed | undefined,
  open: readonly StoredLifecycle[],
): string =>
  head !== undefined && ofHead(open)?.cause === "idle"
    ? `the head of ${name} turned itself off before it could report how its hooks ended`
    : lossOf(ofHead(open), {
        whenRunning: "node 0 was lost",
        otherwise: `the head of ${name} does not run`,
      });

/** There is nothing to save; told its place, it would be taken for one that has its files. */
const whyNew = ({ name }: Cluster, open: readonly StoredLifecycle[]): string =>
  lossOf(ofHead(open), {
    whenRunning: "node 0 was lost",
    otherwise: `the head of ${name} was replaced, and nothing has run there yet`,
  });

const leaveWithout = (why: string): Step[] => [[{ do: "leaveWithout", why }]];

/** After this the nodes go, also those that still save something. */
const isFarewell = (step: Step): boolean =>
  step.some((action) => ["fetchLogs", "leave", "leaveWithout"].includes(action.do));

/** The way of a head that is well: hooks, jobs, ready. No step: it is on its way. */
function nextOfHead(cluster: Cluster, head: Observed, open: readonly StoredLifecycle[]): Step[] {
  const { skipHooks } = cluster;
  const { agent, lifecycle } = head;
  const known = ofHead(open);
  const event = eventOf(cluster);
  if (agent === "unset") return [[{ do: "configure", rank: 0 }]];
  if (lifecycle?.known === "new") return [[{ do: "adopt", rank: 0 }]];
  if (lifecycle !== null && isLeftOver(lifecycle, event))
    return [[{ do: "takeBack", id: lifecycle.id }]];
  if (!lifecycle?.events.includes(event) || (skipHooks && !known?.skipsHooks))
    return head.knowsHooks || skipHooks ? [[{ do: "begin" }]] : [[{ do: "tellHead" }]];
  return lifecycle.status === "READY" ? [[{ do: "fetchLogs" }], [{ do: "leave" }]] : [];
}

/** It was for another wish: one that was fulfilled, or a teardown that was taken back. */
const isLeftOver = ({ known, events }: LedLifecycle, event: HookEvent) =>
  (known === "over" && !events.includes("preemption")) ||
  (event === "stop" && events.includes("down"));

/** A stop whose nodes go already comes to its end before a teardown; one that fails need not. */
export function endOfStop(
  cluster: Cluster,
  nodes: Observed[],
  open: readonly StoredLifecycle[],
): Step[] | undefined {
  const lifecycle = ofHead(open);
  if (lifecycle === undefined || lifecycle.events.includes("down") || cluster.problem !== null)
    return undefined;
  const stop = stopOf(nodes);
  return stop.length > 0 ? stop : moveTo(cluster, "STOPPED", lifecycle.because);
}
