import type { Replica, Version } from "../schema.ts";
import { holdingUp, lacksSpot, nextTryAt } from "./back-off.ts";
import { type Kinds, kindsOf, neverSpotOf } from "./kinds.ts";
import { capacityOf } from "./scale.ts";
import type { Leave, ServiceView, Start } from "./schema.ts";
import { switchesAtOnce, whyVersion } from "./update.ts";

/** Of the version to have: what is missing and what is too much. Pure. */

const ofVersion = (live: readonly Replica[], { version }: Version): Replica[] =>
  live.filter((one) => one.version === version);

/** How many there should be, without those that stand in for others. */
const wantedOf = ({ service: { scaling }, spec }: ServiceView): number =>
  scaling.target === 0 ? 0 : scaling.target + spec.policy.overprovision;

const kindsWanted = (view: ServiceView, ours: readonly Replica[]): Kinds =>
  kindsOf(view.spec, wantedOf(view), ours);

/** What is to be started now; what is on no spot machine comes first. */
export function startsOf(
  view: ServiceView,
  live: readonly Replica[],
  goal: Version,
  failed: readonly Replica[],
): Start[] {
  const ours = ofVersion(live, goal);
  const { spot, onDemand } = kindsWanted(view, ours);
  const spots = ours.filter(({ isSpot }) => isSpot).length;
  // That there is no spot machine holds up no other.
  const others = failed.filter((one) => !lacksSpot(one));
  const lacking = Math.max(0, onDemand - (ours.length - spots));
  const standIns = Math.min(lacking, onDemand - neverSpotOf(view.spec, wantedOf(view)));
  const isUpdate = live.length > ours.length;
  const { reason } = view.service.scaling;
  const because = isUpdate ? whyVersion(view, goal) : reason;
  const missing: Omit<Start, "version">[] = [
    ...Array(lacking - standIns).fill({ isSpot: false, because }),
    ...Array(standIns).fill({ isSpot: false, because: `stands in for a spot replica: ${because}` }),
    ...Array(triable(view, failed, spot - spots)).fill({ isSpot: true, because }),
  ];
  const isPool = view.spec.policy.queueLength !== undefined;
  const isBounded = (isUpdate || isPool) && !switchesAtOnce(goal);
  // A worker that drains has its machine for as long as its jobs take.
  const there = isPool ? view.replicas.filter(({ endedAt }) => endedAt === null) : live;
  const room = isBounded ? spot + onDemand + view.spec.update.maxSurge - there.length : Infinity;
  const count = Math.max(0, Math.min(room, triable(view, others, missing.length)));
  return missing.slice(0, count).map((one) => ({ version: goal.version, ...one }));
}

/** How many of those that are missing are tried now: while replicas fail in a row, one at a time. */
function triable(view: ServiceView, failed: readonly Replica[], missing: number): number {
  if (nextTryAt(holdingUp(failed, view.hasMachines), view.now) > view.now) return 0;
  return Math.max(0, Math.min(missing, failed.length > 1 ? 1 : Infinity));
}

const removalOrder = ["PENDING", "PROVISIONING", "STARTING", "NOT_READY", "READY"];

/** More of a kind than wanted: what is the least use goes first, then who takes the least, then the newest; of a pool what has no job. */
export function surplusOf(view: ServiceView, live: readonly Replica[], goal: Version): Leave[] {
  const { policy } = view.spec;
  const takes = ({ accelerators }: Replica) => capacityOf(policy, accelerators) ?? 0;
  const hasJobs = ({ id }: Replica) => Number(view.busy.has(id));
  const byUse = (a: Replica, b: Replica) =>
    hasJobs(b) - hasJobs(a) || rankOf(b) - rankOf(a) || takes(b) - takes(a) || a.number - b.number;
  // What is of the most use first: as many as are needed are counted in this order.
  const ours = ofVersion(live, goal).toSorted(byUse);
  const kinds = kindsWanted(view, ours);
  const beyond = (isSpot: boolean, wanted: number) =>
    ours.filter((one) => one.isSpot === isSpot).slice(wanted);
  const spots = beyond(true, kinds.spot);
  const scaled = `scaled down: ${view.service.scaling.reason}`;
  const isReplaced = kinds.spot > 0 && spots.length === 0;
  const replaced = isReplaced ? "the spot replica that it stood in for is ready" : scaled;
  return [
    ...spots.map((replica) => ({ replica, because: scaled })),
    ...beyond(false, kinds.onDemand).map((replica) => ({ replica, because: replaced })),
  ];
}

const rankOf = ({ status }: Replica): number => removalOrder.indexOf(status);
