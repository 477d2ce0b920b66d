import type { ReplicaStatus } from "../../../contract/statuses.ts";
import type { Replica } from "../schema.ts";

/** How fast replicas that fail are replaced. Pure. */

/** Failed by what it runs, not by the loss of its machine. */
const failures: readonly ReplicaStatus[] = [
  ...(["FAILED", "FAILED_INITIAL_DELAY", "FAILED_PROBING", "FAILED_PROVISION"] as const),
];

const firstPauseMs = 10_000;
const longestPauseMs = 600_000;
/** A replica that is ready for so long makes up for those that failed before that. */
const healthMs = 600_000;

export const hasFailed = ({ status }: Pick<Replica, "status">): boolean =>
  failures.includes(status);

/** A spot machine was offered and could not be had: nothing is said about what it was to run. */
export const lacksSpot = ({ isSpot, status }: Pick<Replica, "isSpot" | "status">): boolean =>
  isSpot && status === "FAILED_PROVISION";

/** Every replica of a version that failed and is still known, the latest first. */
export const failuresOf = (replicas: readonly Replica[], version: number): Replica[] =>
  replicas
    .filter((one) => one.version === version && hasFailed(one))
    .sort((a, b) => endOf(b) - endOf(a));

/** Those of a version that failed since the latest got ready that is still there. */
export function failedSinceReady(replicas: readonly Replica[], version: number): Replica[] {
  const there = replicas.filter((one) => one.version === version && one.endedAt === null);
  const since = Math.max(0, ...there.map(({ readyAt }) => readyAt ?? 0));
  return failuresOf(replicas, version).filter((one) => endOf(one) > since);
}

/** Those that failed one after another: since one was healthy for long. */
export function failedInARow(
  replicas: readonly Replica[],
  version: number,
  now: number,
): Replica[] {
  const ours = replicas.filter((one) => one.version === version);
  const forgivenAt = Math.max(0, ...ours.map((one) => healthyUntil(one, now) - healthMs));
  return failuresOf(ours, version).filter((one) => endOf(one) > forgivenAt);
}

/** Until when it was ready for long enough without a break; 0 when it was not. */
function healthyUntil({ status, statusChangedAt, readyAt, endedAt }: Replica, now: number): number {
  const [from, until] = status === "READY" ? [statusChangedAt, now] : [readyAt, endedAt];
  return from !== null && until !== null && until - from >= healthMs ? until : 0;
}

const endOf = ({ endedAt, statusChangedAt }: Replica): number => endedAt ?? statusChangedAt;

/** Those that hold up the next try: not what found no machine, once there is one. */
export const holdingUp = (failed: readonly Replica[], hasMachines: boolean): Replica[] =>
  failed.filter(({ isUnplaced }) => !(isUnplaced && hasMachines));

/**
 * From when on another replica may be tried: the first at once, each further one twice as late. One that
 * seems to fail only later failed before the clock was set back, nobody knows when.
 */
export function nextTryAt(failed: readonly Replica[], now: number): number {
  const latest = failed.find((one) => endOf(one) <= now);
  if (latest === undefined || failed.length === 1) return 0;
  return endOf(latest) + Math.min(firstPauseMs * 2 ** (failed.length - 2), longestPauseMs);
}
