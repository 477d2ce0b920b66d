import type { Replica, Version } from "../schema.ts";
import type { Leave, ServiceView } from "./schema.ts";

/** How replicas of other versions make room for those of the version to have. Pure. */

type View = Pick<ServiceView, "service" | "spec" | "versions" | "busy">;

const isReady = ({ status }: Replica): boolean => status === "READY";

/** One that was ready and is not for a moment takes requests again, as long as it is left there. */
const isProved = ({ status }: Replica): boolean => status === "READY" || status === "NOT_READY";

/** The replicas of other versions that may go now. */
export function leavingOfUpdate(view: View, live: readonly Replica[], goal: Version): Leave[] {
  const because = whyVersion(view, goal);
  const going = [...leavingOlder(view, live, goal), ...leavingGivenUp(view, live, goal)];
  return going.map((replica) => ({ replica, because }));
}

/** Why replicas are to have the version that they are to have. */
export function whyVersion({ versions }: Pick<View, "versions">, goal: Version): string {
  const newest = Math.max(...versions.map(({ version }) => version));
  return newest > goal.version
    ? `back to version ${goal.version}: version ${newest} was given up`
    : `version ${goal.version}: ${goal.because}`;
}

const olderOf = (live: readonly Replica[], goal: Version): Replica[] =>
  live.filter(({ version }) => version < goal.version);

/** Of those that served until now: what is of the least use first. */
function leavingOlder(view: View, live: readonly Replica[], goal: Version): Replica[] {
  const older = olderOf(live, goal);
  if (switchesAtOnce(goal)) return isSwitched(view, live, goal) ? older : [];
  return leavingFor(
    view,
    older,
    live.filter((one) => one.version === goal.version),
  );
}

/** Who goes at once, as others take their place: what never took requests, and what is not needed. */
function leavingFor(view: View, leaving: readonly Replica[], others: readonly Replica[]) {
  const proved = leaving
    .filter(isProved)
    .toSorted(
      (a, b) =>
        Number(isReady(a)) - Number(isReady(b)) ||
        Number(view.busy.has(a.id)) - Number(view.busy.has(b.id)) ||
        a.version - b.version ||
        b.number - a.number,
    );
  const count = proved.length + others.filter(isReady).length;
  return [...leaving.filter((one) => !isProved(one)), ...proved.slice(0, dispensable(view, count))];
}

/** How many of so many may go without leaving fewer than an update may have. */
function dispensable({ service, spec }: View, count: number): number {
  const needed = service.scaling.target - spec.update.maxUnavailable;
  return Math.max(0, count - Math.max(0, needed));
}

/** Newer than the version to have is only what was given up: it serves until enough else does. */
function leavingGivenUp(view: View, live: readonly Replica[], goal: Version): Replica[] {
  const isNewer = ({ version }: Replica) => version > goal.version;
  const others = live.filter((one) => !isNewer(one));
  return leavingFor(view, live.filter(isNewer), others);
}

/** The new replicas that get no request yet: old ones serve until the new set is whole. */
export function standbysOf(view: View, live: readonly Replica[], goal: Version): Set<Replica> {
  const isPreparing = switchesAtOnce(goal) && isUnderWay(view, live, goal);
  if (!isPreparing || !olderOf(live, goal).some(isReady)) return new Set();
  return new Set(live.filter(({ version }) => version === goal.version));
}

/** Whether old replicas still hold the place of new ones, which are too few. */
export const isUnderWay = (view: View, live: readonly Replica[], goal: Version): boolean =>
  olderOf(live, goal).length > 0 && !isSwitched(view, live, goal);

/** A blue-green update brings the whole new set up before the old one goes. */
export const switchesAtOnce = ({ mode }: Pick<Version, "mode">): boolean => mode === "blue_green";

function isSwitched({ service }: View, live: readonly Replica[], goal: Version): boolean {
  const fresh = live.filter((one) => one.version === goal.version && isReady(one)).length;
  return fresh >= service.scaling.target;
}
