import { count } from "../../../common/count.ts";
import type { ReplicaPolicy } from "../../../contract/task/replica-policy.ts";
import type { Scaling } from "../schema.ts";

/** How many replicas a service should have, and why. Pure. */

/** What the balancer sees of the demand, and what can meet it. */
export interface Demand {
  /** Requests that arrived in each of the last whole seconds. */
  readonly arrivals: readonly number[];
  /** Requests under way, those that wait for a replica included. */
  readonly open: number;
  /** What each live replica takes, in requests a second; undefined where that is not known. */
  readonly capacities: readonly (number | undefined)[];
  /** Of a pool: jobs that wait for a worker, and workers that have jobs. */
  readonly jobs?: { readonly waiting: number; readonly busy: number };
  /** Since when it is watched without a break: before that control was away. */
  readonly watchedSince: number;
}

/** The window that a rate is taken over. */
const windowSeconds = 60;

/** What a service begins with. */
export const firstScaling = (policy: ReplicaPolicy): Scaling => ({
  target: policy.min,
  reason: boundReason(policy, policy.min),
  pressure: null,
});

/**
 * The target from now on. More or fewer replicas must be needed for the whole delay of the policy,
 * without a break, before it changes; from zero it changes at once, as somebody waits.
 */
export function scale(
  policy: ReplicaPolicy,
  before: Scaling,
  demand: Demand,
  now: number,
): Scaling {
  const { targetQps } = policy;
  const allowed = clip(policy, before.target);
  if (allowed !== before.target)
    return { target: allowed, reason: boundReason(policy, allowed), pressure: null };
  const need =
    targetQps === undefined
      ? neededWorkers(policy, before, demand)
      : needed(policy, targetQps, demand);
  if (need === undefined) return { ...before, pressure: null };
  const { count, reason } = need;
  if (count === before.target) return { ...before, pressure: null };
  const to = count > before.target ? "up" : "down";
  const pressedAt = before.pressure?.to === to ? before.pressure.since : now;
  // What seems to be still to come is from before the clock was set back.
  const since = pressedAt > now ? demand.watchedSince : Math.max(pressedAt, demand.watchedSince);
  const delayMs = 1000 * (to === "up" ? policy.upscaleDelaySeconds : policy.downscaleDelaySeconds);
  const isDue = before.target === 0 || now - since >= delayMs;
  return isDue ? { target: count, reason, pressure: null } : { ...before, pressure: { to, since } };
}

/** Requests a second that a replica with these accelerators takes; undefined where nothing says. */
export function capacityOf(
  { targetQps }: Pick<ReplicaPolicy, "targetQps">,
  accelerators: { readonly name: string; readonly count: number } | null,
): number | undefined {
  if (typeof targetQps !== "object") return targetQps;
  if (accelerators === null) return undefined;
  const { name, count } = accelerators;
  return targetQps[`${name}:${count}`] ?? targetQps[name];
}

const clip = ({ min, max }: ReplicaPolicy, count: number): number =>
  Math.min(max, Math.max(min, count));

/** Why a service has so many where nothing but its policy says so. */
function boundReason(policy: ReplicaPolicy, target: number): string {
  const { min, max } = policy;
  if (min === max) return `${countOf(policy, min)} ${min === 1 ? "is" : "are"} configured`;
  return `the ${target === min ? "fewest" : "most"} of the ${min} to ${max} that are configured`;
}

function needed(
  policy: ReplicaPolicy,
  targetQps: NonNullable<ReplicaPolicy["targetQps"]>,
  { arrivals, open, capacities }: Demand,
): { count: number; reason: string } {
  const rate = sum(arrivals) / windowSeconds;
  const raw =
    typeof targetQps === "number"
      ? Math.ceil(rate / targetQps)
      : neededOf(Object.values(targetQps), capacities, rate);
  // Whoever waits, or is being answered, is not left alone because the minute was quiet.
  const count = clip(policy, Math.max(raw, open > 0 ? 1 : 0));
  if (raw === 0 && open > 0) return { count, reason: "a request is waiting or in progress" };
  const each = typeof targetQps === "number" ? ` at ${targetQps} each` : "";
  return { count, reason: `${rate.toFixed(1)} requests/s need ${countOf(policy, raw)}${each}` };
}

/** One worker more while too many jobs wait; as many as have jobs once none waits. */
function neededWorkers(
  policy: ReplicaPolicy,
  { target }: Scaling,
  { jobs }: Demand,
): { count: number; reason: string } | undefined {
  const { queueLength } = policy;
  if (queueLength === undefined || jobs === undefined) return undefined;
  const { waiting, busy } = jobs;
  if (waiting === 0) {
    const count = Math.min(target, clip(policy, busy));
    return {
      count,
      reason: `no job is waiting, and ${countOf(policy, busy)} ${busy === 1 ? "has" : "have"} jobs`,
    };
  }
  const reason = `${waiting} ${waiting === 1 ? "job waits" : "jobs wait"}`;
  const isLong = waiting > queueLength || target === 0;
  return { count: clip(policy, isLong ? target + 1 : target), reason };
}

/** More of the largest where all together are not enough; else the fewest, the largest first. */
function neededOf(
  rates: readonly number[],
  capacities: readonly (number | undefined)[],
  rate: number,
): number {
  const known = capacities.map((capacity) => capacity ?? Math.min(...rates)).sort((a, b) => b - a);
  const lacking = rate - sum(known);
  if (lacking > 0) return known.length + Math.ceil(lacking / Math.max(...rates));
  let covered = 0;
  const enough = known.findIndex((capacity) => {
    covered += capacity;
    return covered >= rate;
  });
  return rate === 0 ? 0 : enough + 1;
}

const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

/** What people call that of which there are so many. */
export const memberOf = ({ queueLength }: Pick<ReplicaPolicy, "queueLength">) =>
  queueLength === undefined ? "replica" : "worker";

const countOf = (policy: ReplicaPolicy, many: number): string => count(many, memberOf(policy));
