/**
 * A lease: how long an attempt at a managed job may live without control. Each renewal brings the instant that the
 * agent gave at the one before, on its own clock: the time counts from there, so a renewal that comes late extends
 * nothing. Control counts from when it received that instant, which is later. Everything here is pure.
 */

export const leaseBounds = { leastSeconds: 10, mostSeconds: 604_800 } as const;

const mostEndingMs = 30_000;
const mostPauseMs = 15_000;

/** How long before its end the agent begins to end the attempt, hooks first; all of it is gone by the end. */
export const endingMsOf = (leaseMs: number): number => Math.min(mostEndingMs, leaseMs / 4);

/** How often control renews a lease. */
export const renewEveryMs = (leaseMs: number): number => Math.min(mostPauseMs, leaseMs / 20);

/** Clocks of machines differ by less than a hundredth; killed processes are gone some seconds later. */
const drift = 0.01;
const dyingMs = 5_000;

/** How long after control last received an instant the attempt has ended for sure, by control's own clock. */
export const surelyOverMs = (leaseMs: number): number => leaseMs * (1 + drift) + dyingMs;

/** How long a lease is, for people: `90 s`, `10 min`. */
export const describeLease = (leaseMs: number): string =>
  leaseMs % 60_000 === 0 ? `${leaseMs / 60_000} min` : `${leaseMs / 1_000} s`;
