import { type HookEvent, hookEvents } from "../../../contract/hooks.ts";
import type { StoredLifecycle } from "../lifecycles/schema.ts";

/** What is known of the logs of a cluster's hooks; lifecycles come newest first. */
export interface Known {
  readonly lifecycles: readonly StoredLifecycle[];
  /** Whether control has anything of what the hooks of this event wrote. */
  hasCopy(lifecycle: StoredLifecycle, event: HookEvent): boolean;
}

/** One event's log: of one lifecycle, or of those that took several nodes at the same time. */
export interface Choice {
  readonly event: HookEvent;
  readonly lifecycle: StoredLifecycle;
}

/** Whether there is a log, or should be, or may come to be. */
export function mayHaveLog(
  known: Pick<Known, "hasCopy">,
  lifecycle: StoredLifecycle,
  event: HookEvent,
): boolean {
  const { status, events, runs } = lifecycle;
  if (known.hasCopy(lifecycle, event)) return true;
  if (runs.some((run) => run.event === event && run.startedAt !== null)) return true;
  return status === "HOOKS" && events.includes(event);
}

/** The newest log of some events; within a lifecycle the one that hooks run for, or ran last. */
export function chooseLog(known: Known, events: readonly HookEvent[]): Choice | undefined {
  for (const lifecycle of known.lifecycles) {
    const inTurn = [...lifecycle.runs.map((run) => run.event).reverse(), ...lifecycle.events];
    const event = inTurn.find((one) => events.includes(one) && mayHaveLog(known, lifecycle, one));
    if (event !== undefined) return { event, lifecycle };
  }
}

/** The same of what the idle timer began alone, and of what ran the older hook of autostop. */
export function ofAutostop({ lifecycles, hasCopy }: Known, hasOlderHook: boolean): Known {
  // The older hook is the first of the list.
  const ranIt = ({ runs }: StoredLifecycle) =>
    hasOlderHook && runs.some(({ index, startedAt }) => index === 0 && startedAt !== null);
  return { lifecycles: lifecycles.filter((one) => one.cause === "idle" || ranIt(one)), hasCopy };
}

/** The lifecycles of all nodes that were taken away together with that of a choice, one a rank. */
export function togetherWith({ lifecycles }: Known, { event, lifecycle }: Choice) {
  if (event !== "preemption") return [lifecycle];
  const overlapping = lifecycles.filter(
    (one) => one.events.includes(event) && isDuring(one, lifecycle) && isDuring(lifecycle, one),
  );
  const byRank = new Map(overlapping.toReversed().map((one) => [one.rank, one]));
  return [...byRank.set(lifecycle.rank, lifecycle).values()];
}

/** Whether one began before the other had ended. */
const isDuring = (one: StoredLifecycle, other: StoredLifecycle): boolean =>
  other.endedAt === null || one.startedAt <= other.endedAt;

/** The events that a cluster has logs of. */
export const eventsWithLogs = (known: Known): HookEvent[] =>
  hookEvents.filter((event) => known.lifecycles.some((one) => known.hasCopy(one, event)));
