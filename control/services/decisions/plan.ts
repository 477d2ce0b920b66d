import type { replicaRoles } from "../../../contract/balancer-api.ts";
import type { ServiceStatus } from "../../../contract/statuses.ts";
import { isOpen, type Replica, type Version } from "../schema.ts";
import { failedInARow, failedSinceReady, failuresOf, lacksSpot } from "./back-off.ts";
import { startsOf, surplusOf } from "./counts.ts";
import { memberOf } from "./scale.ts";
import type { Leave, ServiceView, Start } from "./schema.ts";
import { isUnderWay, leavingOfUpdate, standbysOf, switchesAtOnce } from "./update.ts";

/** Which replicas a service should have, by what it has. Pure. */

export interface Decision {
  readonly start: readonly Start[];
  readonly leave: readonly Leave[];
  /** What each replica is there for, by number; those without an address or with nothing open have none. */
  readonly roles: ReadonlyMap<number, (typeof replicaRoles)[number]>;
  /** The newest version is not tried any more. */
  readonly giveUp: { readonly version: number; readonly because: string } | undefined;
  readonly status: ServiceStatus;
  readonly reason: string;
}

/** So many replicas of a version fail, before it serves, until the one before is taken again. */
const failuresToGiveUp = 3;
/** So many fail one after another before the service itself is called failed. */
const failuresToFail = 2;

/** Whether a replica is there to stay. */
export const isLive = ({ wanted, endedAt }: Pick<Replica, "wanted" | "endedAt">): boolean =>
  wanted === "UP" && endedAt === null;

/** The version that replicas should have: the newest that was not given up. */
export function goalOf(versions: readonly Version[]): Version {
  const tried = versions.filter(({ givenUp }) => givenUp === null);
  const [newest] = (tried.length > 0 ? tried : versions).toSorted((a, b) => b.version - a.version);
  if (newest === undefined) throw new Error("a service has at least one version");
  return newest;
}

/** What to do now about the replicas of a service that is wanted. */
export function planService(view: ServiceView): Decision {
  const { versions, replicas, now } = view;
  const goal = goalOf(versions);
  const live = replicas.filter(isLive);
  const failed = failedInARow(replicas, goal.version, now);
  const surplus = surplusOf(view, live, goal);
  // Who goes as surplus is not counted on when others make room.
  const staying = live.filter((one) => !surplus.some(({ replica }) => replica === one));
  const leave = [...leavingOfUpdate(view, staying, goal), ...surplus];
  const giveUp = giveUpOf(view, live, goal);
  const roles = rolesOf(view, live, goal, leave);
  return {
    start: giveUp ? [] : startsOf(view, live, goal, failed),
    leave,
    roles,
    giveUp,
    ...statusOf(view, live, failed, lastAnswering(view, roles)),
  };
}

function rolesOf(
  view: ServiceView,
  live: readonly Replica[],
  goal: Version,
  leave: readonly Leave[],
): Decision["roles"] {
  const leaving = new Set(leave.map(({ replica }) => replica));
  const standbys = standbysOf(view, live, goal);
  const takesOver = (one: Replica) =>
    one.status === "READY" && !leaving.has(one) && !standbys.has(one);
  const isAlone = !live.some(takesOver);
  const roleOf = (one: Replica) => {
    // Its machine is being taken away, and nothing else answers.
    if (one.status === "PREEMPTED" && one.wanted === "UP" && isAlone) return "serving";
    if (!isLive(one) || leaving.has(one)) return "draining";
    return standbys.has(one) ? "standby" : "serving";
  };
  return new Map(
    view.replicas
      .filter((one) => one.host !== null && one.port !== null && isOpen(one))
      .map((one) => [one.number, roleOf(one)]),
  );
}

/**
 * A version is hopeless by what fails until it has taken over. What is ready of a set that is to take
 * over at once makes up for none that failed; else it does for those that failed before.
 */
function giveUpOf(view: ServiceView, live: readonly Replica[], goal: Version): Decision["giveUp"] {
  const isBack = ({ version, readyAt, givenUp }: Version) =>
    version < goal.version && readyAt !== null && givenUp === null;
  if (!view.versions.some(isBack)) return undefined;
  if (goal.readyAt !== null && !isUnderWay(view, live, goal)) return undefined;
  const failuresIn = switchesAtOnce(goal) ? failuresOf : failedSinceReady;
  const failed = failuresIn(view.replicas, goal.version).filter((one) => !lacksSpot(one));
  if (failed.length < failuresToGiveUp) return undefined;
  const before = goal.readyAt === null ? "and none was ready" : "before all of it was ready";
  const because =
    `${failed.length} replicas of version ${goal.version} failed ${before}; ` +
    `the latest: ${failed[0]?.reason}`;
  return { version: goal.version, because };
}

/** Replicas that still serve, as none is ready, although their machines are being taken away, while they answer. */
const lastAnswering = ({ replicas, answering }: ServiceView, roles: Decision["roles"]) =>
  replicas.filter(
    ({ status, number, readyAt }) =>
      status === "PREEMPTED" &&
      roles.get(number) === "serving" &&
      (answering?.has(number) ?? readyAt !== null),
  );

function statusOf(
  { service: { scaling }, spec: { policy } }: ServiceView,
  live: readonly Replica[],
  failed: readonly Replica[],
  [last, ...others]: readonly Replica[],
): Pick<Decision, "status" | "reason"> {
  const ready = live.filter(({ status }) => status === "READY").length;
  if (ready > 0) return { status: "READY", reason: `${ready} of ${scaling.target} are ready` };
  if (last) {
    const numbers = [last, ...others].map(({ number }) => number).join(", ");
    const only = others.length === 0 ? `replica ${numbers} serves` : `replicas ${numbers} serve`;
    return { status: "READY", reason: `only ${only}; ${last.reason}` };
  }
  if (scaling.target === 0 && live.length === 0)
    return { status: "NO_REPLICA", reason: scaling.reason };
  const [latest] = failed;
  if (latest !== undefined && failed.length >= failuresToFail)
    return { status: "FAILED", reason: `${memberOf(policy)} ${latest.number}: ${latest.reason}` };
  return { status: "REPLICA_INIT", reason: `no ${memberOf(policy)} is ready yet` };
}
