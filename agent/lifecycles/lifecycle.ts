import { fail } from "../../common/errors.ts";
import type { HookEvent } from "../../contract/hooks.ts";
import type { LifecycleOrder } from "../../contract/lifecycle-shapes.ts";
import type { Entry, LifecycleRow, Moment, Run } from "./row.ts";
import { deadlineOf, earlier, killMsOf, preemptedGraceMs } from "./time.ts";

const notice = "preemption";

/** What there is to decide about a lifecycle; everything here is pure. */

/** What is said of an event, to whoever is refused and to whom its job is ended. */
const words: Record<HookEvent, { doing: string; done: string }> = {
  stop: { doing: "the cluster is being stopped", done: "the cluster was stopped" },
  preemption: { doing: "the node is being taken away", done: "the node was taken away" },
  down: { doing: "the cluster is being torn down", done: "the cluster was torn down" },
};
const causesByWeight: readonly LifecycleOrder["cause"][] = ["idle", "user", "provider"];

/** What is going on and who wants it: `the cluster is being stopped (stop by ann)`. */
export const describe = ({ events, because }: Pick<LifecycleRow, "events" | "because">): string =>
  `${words[urgentOf(events)].doing} (${because})`;

/** As `describe`, of something that has happened. */
export const describeDone = ({
  events,
  because,
}: Pick<LifecycleRow, "events" | "because">): string =>
  `${words[urgentOf(events)].done} (${because})`;

/** The lifecycle that an order begins. */
export function beginRow(
  order: LifecycleOrder,
  entries: readonly Entry[],
  now: Moment,
  bootId: string,
): LifecycleRow {
  const { id, event, cause, because, deadlineAt, skipHooks } = order;
  return {
    ...{ id, cause, because, bootId, entries },
    revision: 0,
    events: [event],
    asked: [event],
    status: "HOOKS",
    deadline: deadlineOf(deadlineAt, now),
    startedAt: now.at,
    endedAt: null,
    runs: [],
    skip: skipHooks ? skipReason(because) : null,
    logs: [],
    areLogsConfirmed: false,
    isSettled: false,
  };
}

/**
 * What an order makes of the lifecycle that is under way: itself when it asks for nothing more.
 * Throws `ConflictError` for a stop during a teardown.
 */
export function sharpen(open: LifecycleRow, order: LifecycleOrder, now: Moment): LifecycleRow {
  if (order.event === "stop" && open.events.includes("down"))
    fail("ConflictError", `a teardown is in progress (${open.because}); it cannot become a stop`, {
      lifecycle: open.id,
    });
  const events = joinEvents(open.events, order.event);
  const isHeavier = weightOf(order.cause) > weightOf(open.cause);
  const isMoreUrgent = urgentOf(events) !== urgentOf(open.events);
  const changed: LifecycleRow = {
    ...hasten(open, order, now),
    events,
    asked: open.asked.includes(order.event) ? open.asked : [...open.asked, order.event],
    cause: isHeavier ? order.cause : open.cause,
    because: isHeavier || isMoreUrgent ? order.because : open.because,
    skip: open.skip ?? (order.skipHooks ? skipReason(order.because) : null),
  };
  const hasMore = nextEntry(changed) !== undefined;
  return hasMore ? { ...changed, status: "HOOKS", areLogsConfirmed: false } : changed;
}

/** The deadline and the runs that an order leaves, also to a lifecycle whose last hook outlives it. */
export function hasten(row: LifecycleRow, order: LifecycleOrder, now: Moment): LifecycleRow {
  const deadline = earlier(row.deadline, deadlineOf(order.deadlineAt, now));
  const runs = row.runs.map((run) => cut({ ...row, deadline }, run, order, now));
  return { ...row, deadline, runs };
}

/**
 * What is left once nobody wants what was asked for any more: the preemption that it met, which ends
 * by itself, however often this is said. Undefined when nothing is left.
 */
export function withoutAsked(row: LifecycleRow): LifecycleRow | undefined {
  const isAnnounced = row.events.includes(notice);
  const isAsked = row.asked.some((event) => event !== notice);
  return isAnnounced && isAsked ? { ...row, events: [notice] } : undefined;
}

/** The entry that is to run next, and for which event: each at most once in a lifecycle. */
export function nextEntry({
  events,
  entries,
  runs,
  skip,
}: Pick<LifecycleRow, "events" | "entries" | "runs" | "skip">):
  | { index: number; event: HookEvent }
  | undefined {
  if (skip !== null) return undefined;
  for (const event of events) {
    const index = entries.findIndex(
      (entry, at) => entry.events.includes(event) && !runs.some((run) => run.index === at),
    );
    if (index !== -1) return { index, event };
  }
}

/** The entries that were asked for and will not run any more, and why. */
export const passedOver = ({
  events,
  asked,
  entries,
  runs,
  skip,
  because,
}: Pick<LifecycleRow, "events" | "asked" | "entries" | "runs" | "skip" | "because">): {
  index: number;
  event: HookEvent;
  reason: string;
}[] =>
  entries.flatMap((entry, index) => {
    const event = asked.find((name) => entry.events.includes(name));
    if (event === undefined || runs.some((run) => run.index === index)) return [];
    const became = `it is not for what the ${event} became (${because})`;
    const reason = skip ?? (isOnlyNotice(events) ? takenBack : became);
    return [{ index, event, reason }];
  });

/** Nothing becomes a preemption: what else was asked for was taken back. */
export const isOnlyNotice = (events: readonly HookEvent[]): boolean =>
  events.every((event) => event === notice);

/** Why no further hook begins once nobody wants what they are for. */
export const takenBack = "it was taken back";

/**
 * The lifecycle after a reboot: what was under way goes on, but a machine that is back was not taken
 * away, and one that was ready to stop has stopped. Answers it unchanged in the boot that it knows.
 */
export function afterReboot(row: LifecycleRow, bootId: string, now: Moment): LifecycleRow {
  if (row.bootId === bootId) return row;
  const events = row.events.filter((event) => event !== "preemption");
  const isBack = events.length === 0 || row.status === "READY";
  const ending = { status: "INTERRUPTED", reason: rebooted, killMs: now.monotonicMs } as const;
  const moved = {
    ...row,
    bootId,
    deadline: events.length < row.events.length ? null : deadlineOf(row.deadline?.at ?? null, now),
    runs: row.runs.map((run) =>
      run.status === "RUNNING"
        ? { ...run, startedMs: now.monotonicMs, ending: isBack ? ending : run.ending }
        : run,
    ),
  };
  if (row.endedAt !== null) return moved;
  if (!isBack) return { ...moved, events };
  const status = events.length > 0 ? "DONE" : "CANCELLED";
  return { ...moved, status, skip: row.skip ?? rebooted };
}

const rebooted = "the machine was rebooted";

/** The events are never empty: a lifecycle begins with one, and only others take its place. */
const urgentOf = (events: readonly HookEvent[]): HookEvent => events[0] ?? "stop";

const weightOf = (cause: LifecycleOrder["cause"]): number => causesByWeight.indexOf(cause);

/** The most urgent first. A teardown takes the place of a stop; a preemption goes before both. */
function joinEvents(open: readonly HookEvent[], asked: HookEvent): HookEvent[] {
  if (open.includes(asked)) return [...open];
  if (asked === "preemption") return [asked, ...open];
  if (asked === "down" && open.includes("stop"))
    return open.map((event) => (event === "stop" ? "down" : event));
  return [...open, asked];
}

const skipReason = (because: string): string => `hooks are skipped (${because})`;

/**
 * Ends the running hook where the order leaves it no time: it skips hooks, or is a notice that the
 * hook is not meant for. One that is being ended already has no longer than that.
 */
function cut(open: LifecycleRow, run: Run, order: LifecycleOrder, { monotonicMs }: Moment): Run {
  if (run.status !== "RUNNING") return run;
  const isNotice = order.event === "preemption" && !open.events.includes("preemption");
  const isMeant = open.entries[run.index]?.events.includes("preemption") ?? false;
  const isInTheWay = isNotice && !isMeant;
  if (!order.skipHooks && !isInTheWay && run.ending === null) return run;
  const soon = isInTheWay ? monotonicMs + preemptedGraceMs : Infinity;
  const killMs = Math.min(soon, killMsOf(open, monotonicMs), run.ending?.killMs ?? Infinity);
  const ending = run.ending ?? { status: "INTERRUPTED", reason: `it was ended (${order.because})` };
  return { ...run, ending: { ...ending, killMs } };
}
