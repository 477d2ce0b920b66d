import type { Replica, Version } from "../schema.ts";
import type { Leave, ServiceView } from "./plan.ts";

/** How replicas of other versions make room for those of the version to have. Pure. */

type View = Pick<ServiceView, "service" | "spec">;

const isReady = ({ status }: Replica): boolean => status === "READY";

/** One that was ready and is not for a moment takes requests again, as long as it is left there. */
const isProved = ({ status }: Replica): boolean => status === "READY" || status === "NOT_READY";

/** The replicas of other versions that may go now. */
export function leavingOfUpdate(view: View, live: readonly Replica[], goal: Version): Leave[] {
  const because = `version ${goal.version}: ${goal.because}`;
  const going = [...leavingOlder(view, live, goal), ...leavingGivenUp(live, goal)];
  return going.map((replica) => ({ replica, because }));
}

const olderOf = (live: readonly Replica[], goal: Version): Replica[] =>
  live.filter(({ version }) => version < goal.version);

/** Of those that served until now: what is of the least use first. */
function leavingOlder(view: View, live: readonly Replica[], goal: Version): Replica[] {
  const older = olderOf(live, goal);
  if (switchesAtOnce(goal)) return isSwitched(view, live, goal) ? older : [];
  const proved = older
    .filter(isProved)
    .toSorted(
      (a, b) =>
        Number(isReady(a)) - Number(isReady(b)) || a.version - b.version || b.number - a.number,
    );
  const fresh = live.filter((one) => one.version === goal.version && isReady(one)).length;
  return [
    ...older.filter((one) => !isProved(one)),
    ...proved.slice(0, dispensable(view, proved.length + fresh)),
  ];
}

/** How many of so many may go without leaving fewer than an update may have. */
function dispensable({ service, spec }: View, count: number): number {
  const needed = service.scaling.target - spec.update.maxUnavailable;
  return Math.max(0, count - Math.max(0, needed));
}

/** Newer than the version to have is only what was given up: it serves where nothing else does. */
function leavingGivenUp(live: readonly Replica[], goal: Version): Replica[] {
  const newer = live.filter(({ version }) => version > goal.version);
  const isServed = live.some((one) => one.version <= goal.version && isReady(one));
  return isServed ? newer : newer.filter((one) => !isProved(one));
}

/** The new replicas that get no request yet: old ones serve until the new set is whole. */
export function standbysOf(view: View, live: readonly Replica[], goal: Version): Set<Replica> {
  if (!isPreparing(view, live, goal) || !olderOf(live, goal).some(isReady)) return new Set();
  return new Set(live.filter(({ version }) => version === goal.version));
}

/** Whether old replicas still hold the place of a new set, which is not whole. */
export const isPreparing = (view: View, live: readonly Replica[], goal: Version): boolean =>
  switchesAtOnce(goal) && olderOf(live, goal).length > 0 && !isSwitched(view, live, goal);

/** A blue-green update brings the whole new set up before the old one goes. */
export const switchesAtOnce = ({ mode }: Pick<Version, "mode">): boolean => mode === "blue_green";

function isSwitched({ service }: View, live: readonly Replica[], goal: Version): boolean {
  const fresh = live.filter((one) => one.version === goal.version && isReady(one)).length;
  return fresh >= service.scaling.target;
}
