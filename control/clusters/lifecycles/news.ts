import { exitedWith } from "../../../contract/exit-codes.ts";
import type { HookRun, Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { hookRunMachine, lifecycleMachine } from "../../../contract/statuses.ts";
import { excerptOf } from "../../output-excerpt.ts";
import { nameOf } from "../hooks/time.ts";
import type { Cluster } from "../schema.ts";
import type { StoredLifecycle, StoredRun } from "./schema.ts";

/** What there is to decide about what a node tells of its lifecycles. Pure. */

const hasEnded = ({ status }: HookRun): boolean => hookRunMachine.isFinal(status);

/**
 * A lifecycle as it is from now on: from READY control leads it, what has ended stays so, and an
 * answer that was overtaken by a later one changes nothing. `at` is when the answer came, by the steady clock.
 */
export function merged(
  clusterId: string,
  rank: number,
  before: StoredLifecycle | undefined,
  { logs: _, leftMs, ...told }: Lifecycle,
  at: number,
): StoredLifecycle {
  const runs = mergedRuns(before?.runs ?? [], told.runs.map(withShortTail), at);
  const deadlineAt = leftMs === undefined ? told.deadlineAt : deadlineOf(before, told, at + leftMs);
  const now = { ...told, runs, deadlineAt };
  if (before === undefined) return { ...now, clusterId, rank, skipsHooks: false };
  if (told.revision < before.revision) return before;
  const isLed = before.status === "LEAVING" || before.endedAt !== null;
  return isLed ? { ...before, runs } : { ...before, ...now };
}

/** A deadline comes nearer only by what is new; that an answer takes its time on the way moves none. */
function deadlineOf(
  before: StoredLifecycle | undefined,
  told: Pick<Lifecycle, "revision">,
  deadlineAt: number,
): number {
  if (before === undefined || before.deadlineAt === null) return deadlineAt;
  const isNew = told.revision > before.revision;
  return isNew ? Math.min(before.deadlineAt, deadlineAt) : before.deadlineAt;
}

const withShortTail = (run: HookRun): HookRun =>
  run.tail === undefined ? run : { ...run, tail: excerptOf(run.tail) };

const isPreempted = ({ events }: Pick<StoredLifecycle, "events">): boolean =>
  events.includes("preemption");

function mergedRuns(
  before: readonly StoredRun[],
  told: readonly HookRun[],
  at: number,
): StoredRun[] {
  const toldOf = ({ index }: HookRun) => told.find((run) => run.index === index);
  const kept = before.map((run) => {
    const now = toldOf(run);
    return now === undefined || (hasEnded(run) && !hasEnded(now)) ? run : now;
  });
  const added = told.filter(({ index }) => !before.some((run) => run.index === index));
  const heardAt = ({ index }: HookRun) => before.find((run) => run.index === index)?.heardAt ?? at;
  return [...kept, ...added].map((run) =>
    run.status === "RUNNING" ? { ...run, heardAt: heardAt(run) } : run,
  );
}

/** A lifecycle that is over, or that goes on without its node: no hook of it runs any more. */
export function without(
  lifecycle: StoredLifecycle,
  status: "LEAVING" | "DONE" | "CANCELLED",
  at: number,
): StoredLifecycle {
  const end = { status: "INTERRUPTED", endedAt: at, reason: "the node did not report again" };
  const runs = lifecycle.runs.map((run) => (hasEnded(run) ? run : ({ ...run, ...end } as HookRun)));
  const endedAt = lifecycleMachine.isFinal(status) ? at : null;
  return { ...lifecycle, runs, status, endedAt };
}

/** Something that happened, as people are told of it. */
export interface News {
  readonly line: string;
  /** When, in epoch milliseconds; control may have been away then. */
  readonly at: number;
  /** Nobody should miss it. */
  readonly isNoteworthy?: boolean;
}

/** What is new of a lifecycle, oldest first. */
export function newsOf(
  { nodes }: Pick<Cluster, "nodes">,
  before: StoredLifecycle | undefined,
  now: StoredLifecycle,
  at: number,
  steadyAt = at,
): News[] {
  const { rank, because } = now;
  const isNotice = isPreempted(now) && !(before !== undefined && isPreempted(before));
  const notice = `node ${rank} got a preemption notice (${because})${dueIn(now, steadyAt)}`;
  const isSpared = isPreempted(now) && now.status === "CANCELLED" && before?.status !== "CANCELLED";
  const runs = now.runs.filter(
    (run) => hasEnded(run) && !before?.runs.some((one) => one.index === run.index && hasEnded(one)),
  );
  return [
    ...(isNotice ? [{ line: notice, at }] : []),
    ...runs.map((run) => ({
      line: lineOf(run, now, nodes),
      at: Math.min(run.endedAt ?? at, at),
      isNoteworthy: run.status !== "SUCCEEDED",
    })),
    ...(isSpared ? [{ line: `node ${rank} was not taken away; it accepts jobs again`, at }] : []),
  ];
}

function dueIn({ deadlineAt, endedAt }: StoredLifecycle, at: number): string {
  if (deadlineAt === null || endedAt !== null || deadlineAt < at) return "";
  return ` in ${Math.round((deadlineAt - at) / 1000)} s`;
}

const goings = { stop: "; the stop continues", down: "; the teardown continues" } as const;

/** What comes although a hook did not succeed: a stop may have become a teardown, or be taken back. */
function goesOn({ event }: HookRun, { status, events }: StoredLifecycle): string {
  if (event === "preemption") return "";
  if (status === "CANCELLED") return "; the cluster stays up";
  const asked = events.find((one) => one !== "preemption");
  return asked === undefined ? "" : goings[asked];
}

/** `hook 2 of 3 (stop) exited with 3 after 1.2 s; the stop continues`, and what it printed last. */
function lineOf(run: HookRun, lifecycle: StoredLifecycle, nodes: number): string {
  const { event, status } = run;
  const where = event === "preemption" && nodes > 1 ? `node ${lifecycle.rank} says: ` : "";
  const line = `${where}${nameOf(run, lifecycle)} ${fateOf(run)}`;
  return status === "SUCCEEDED" ? line : line + goesOn(run, lifecycle) + lastWords(run);
}

const lastWords = ({ tail = "" }: HookRun): string =>
  tail === "" ? "" : `; it printed last:\n${tail.replace(/^/gm, "  ")}`;

function fateOf({ status, exitCode, reason, startedAt, endedAt, timeoutSeconds }: HookRun): string {
  const took =
    startedAt === null || endedAt === null ? "" : ` after ${tenths(endedAt - startedAt)}`;
  const why = reason === null ? "" : `: ${reason}`;
  switch (status) {
    case "SUCCEEDED":
      return `succeeded${took}`;
    case "FAILED":
      return exitCode === null ? `failed${took}${why}` : `${exitedWith(exitCode)}${took}`;
    case "TIMED_OUT":
      return `was ended${took}, as it had ${Math.round(timeoutSeconds ?? 0)} s (code ${exitCode})`;
    case "INTERRUPTED":
      return `was interrupted${took}${why}`;
    default:
      return `was skipped${why}`;
  }
}

const tenths = (ms: number): string => `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
