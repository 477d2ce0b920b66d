import type { Deadline, Entry, LifecycleRow, Moment, Run } from "./row.ts";

/** How the time of a lifecycle is shared out; everything here is pure, `...Ms` of an instant counts since boot. */

/** What a hook that the preemption leaves no place for has after TERM, and any other. */
export const preemptedGraceMs = 5_000;
const graceMs = 10_000;
/** What is kept of the time before a deadline so that logs can leave the node. */
const reserveMs = 5_000;
/** A hook that would have less is not begun. */
const leastHookMs = 500;
/** Jobs get TERM once so much of the budget is left, and at most so long before the deadline. */
const jobsShare = 0.4;
const jobsAtMostMs = 20_000;
/** What files have to reach their buckets, and where somebody skips the hooks. */
const writingMs = 30 * 60_000;
const skippedWritingMs = 60_000;
/** After the deadline it takes a provider so long at most; then the notice was a false one. */
export const noShowMs = 60_000;

/** The deadline that somebody tells; null is none. */
export function deadlineOf(at: number | null, now: Moment): Deadline | null {
  if (at === null) return null;
  const budgetMs = Math.max(0, at - now.at);
  return { at, monotonicMs: now.monotonicMs + budgetMs, budgetMs };
}

/** How long it is until a deadline; none once it is over. */
export const leftMsOf = ({ monotonicMs }: Deadline, nowMs: number): number =>
  Math.max(0, Math.round(monotonicMs - nowMs));

/** Of two deadlines the one that counts. */
export function earlier(one: Deadline | null, other: Deadline | null): Deadline | null {
  if (one === null || other === null) return one ?? other;
  return other.monotonicMs < one.monotonicMs ? other : one;
}

/** How long an entry may run if it begins now; undefined when too little is left. */
export function timeOf(
  { deadline }: Pick<LifecycleRow, "deadline">,
  { timeoutSeconds }: Pick<Entry, "timeoutSeconds">,
  nowMs: number,
): number | undefined {
  const ownMs = timeoutSeconds * 1000;
  if (deadline === null) return ownMs;
  const leftMs = hooksEndMs(deadline) - nowMs;
  return leftMs < leastHookMs ? undefined : Math.min(ownMs, leftMs);
}

/** When a running hook is out of time, since boot, and why. */
export function endOf(
  { deadline, entries }: Pick<LifecycleRow, "deadline" | "entries">,
  { index, startedMs }: Pick<Run, "index" | "startedMs">,
): { atMs: number; reason: string } {
  const seconds = entries[index]?.timeoutSeconds ?? 0;
  const ownMs = (startedMs ?? 0) + seconds * 1000;
  const own = { atMs: ownMs, reason: `it took longer than its ${seconds} s` };
  if (deadline === null || hooksEndMs(deadline) >= ownMs) return own;
  return { atMs: hooksEndMs(deadline), reason: "the time until the node goes was over" };
}

/** When a hook that gets TERM now is killed: after ten seconds, or half of what is left. */
export const killMsOf = ({ deadline }: Pick<LifecycleRow, "deadline">, nowMs: number): number =>
  nowMs + (deadline === null ? graceMs : within(graceMs, (deadline.monotonicMs - nowMs) / 2));

/** When jobs get TERM although hooks still run, since boot; undefined when they wait for the hooks. */
export const jobsEndMs = ({
  events,
  deadline,
}: Pick<LifecycleRow, "events" | "deadline">): number | undefined =>
  deadline !== null && events.includes("preemption")
    ? deadline.monotonicMs - Math.min(deadline.budgetMs * jobsShare, jobsAtMostMs)
    : undefined;

/** Until when a node waits for files to reach their buckets, since boot. */
export const writingEndMs = (
  { deadline, skip }: Pick<LifecycleRow, "deadline" | "skip">,
  beganMs: number,
): number =>
  Math.min(
    beganMs + (skip === null ? writingMs : skippedWritingMs),
    deadline === null ? Number.POSITIVE_INFINITY : hooksEndMs(deadline),
  );

/** How long what is ended now has after TERM. */
export const graceOf = ({ deadline }: Pick<LifecycleRow, "deadline">, nowMs: number): number =>
  deadline === null ? graceMs : within(graceMs, hooksEndMs(deadline) - nowMs);

/** When a notice turns out to be a false one, since boot; never while a stop or teardown is asked for too. */
export const noShowAtMs = ({
  events,
  deadline,
}: Pick<LifecycleRow, "events" | "deadline">): number | undefined =>
  deadline !== null && events.every((event) => event === "preemption")
    ? deadline.monotonicMs + noShowMs
    : undefined;

/** Hooks are over by then. Short notices keep a quarter instead of the whole reserve. */
const hooksEndMs = ({ monotonicMs, budgetMs }: Deadline): number =>
  monotonicMs - Math.min(reserveMs, budgetMs / 4);

const within = (mostMs: number, ms: number): number => Math.max(0, Math.min(mostMs, ms));
