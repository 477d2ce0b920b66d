import { managedJobMachine } from "../../contract/statuses.ts";
import { type Attempt, isWell } from "./attempts.ts";
import { Violation } from "./checks.ts";
import { prepare, rows } from "./database.ts";
import type { Task } from "./job-checks.ts";

/** Looks at what tasks say that they wait for. */
export interface WaitChecks {
  /** What holds now; without `isHeard` control is away or held up, and what it says may be old. */
  look(now: number, isHeard: IsHeard | undefined, boundMs: number): void;
  /** What holds once control has looked at a task without an error. */
  passed(id: string): void;
}

/** Whether every machine of a cluster answers. */
type IsHeard = (clusterId: string) => boolean;

/** A task of which something is left, with what decides about its wait. */
interface Waiting {
  readonly task: Task;
  readonly ofJob: readonly Task[];
  /** Its cluster or worker, unless that is gone. */
  readonly cluster: Cluster | undefined;
  readonly isHeard: boolean;
  /** Whether its attempt has ended on its node, or what that runs on is about to go. */
  readonly isOver: boolean;
}

interface Cluster {
  readonly id: string;
  readonly status: string;
  readonly wanted: string;
  /** What keeps it from being UP. */
  readonly problem: string | null;
}

const present =
  "SELECT id, status, wanted, problem ->> 'message' AS problem FROM clusters WHERE status <> 'GONE'";
const { isFinal } = managedJobMachine;

const isUp = ({ cluster }: Waiting): boolean => cluster?.status === "UP";
const isRunning = ({ task }: Waiting): boolean =>
  task.status === "RUNNING" && task.wanted === "DONE";
const isBetween = ({ task, cluster }: Waiting): boolean =>
  ["PENDING", "STARTING", "RECOVERING"].includes(task.status) && cluster === undefined;
const isComingUp = ({ task, cluster }: Waiting): boolean =>
  ["STARTING", "RECOVERING"].includes(task.status) && cluster?.wanted === "UP";
const isLeaving = ({ task, cluster }: Waiting): boolean =>
  isFinal(task.status) || task.status === "CANCELLING" || cluster?.wanted === "GONE";
const other = ({ ofJob }: Waiting, number: string | undefined): Task | undefined =>
  ofJob.find((one) => one.number === Number(number));
const isPast = (instant: string | undefined): boolean => Date.parse(instant ?? "") < Date.now();

/** Each reason that control gives, and when it is true: an addition needs a row. */
const reasons: readonly (readonly [RegExp, (of: Waiting, word: string | undefined) => boolean])[] =
  [
    [/^waits until there is a machine for it: ./, isBetween],
    [/^waits until its workspace allows it: ./, isBetween],
    [/^waits until one of \d+ managed jobs has ended, /, ({ task }) => task.queued_for === "job"],
    [
      /^waits until one of \d+ managed jobs has its machine, /,
      ({ task }) => task.queued_for === "launch",
    ],
    [
      /^waits for an? (?:idle )?worker of pool /,
      (of) => of.task.pool_id !== null && of.task.cluster_id === null && isBetween(of),
    ],
    [
      /^waits for task (\d+) .* to succeed$/,
      (of, number) =>
        of.task.status === "PENDING" && !isFinal(other(of, number)?.status ?? "SUCCEEDED"),
    ],
    [
      /^waits until task (\d+) .* of its group has its cluster$/,
      (of, number) => isUp(of) && other(of, number)?.status !== "RUNNING",
    ],
    [
      /^waits until (\S+Z), as it failed \d+ times in a row$/,
      (of, at) => of.task.status === "RECOVERING" && isBetween(of) && !isPast(at),
    ],
    [/^waits for its cluster: ./, (of) => isComingUp(of) && !isUp(of)],
    [/^waits to submit its task: ./, (of) => isComingUp(of) && isUp(of)],
    [/^its machine does not respond; waits until it does, /, (of) => isRunning(of) && !of.isHeard],
    [/^waits until sim says whether its machine is there/, (of) => isRunning(of) && !of.isHeard],
    [
      /waits until its machines say whether one is being preempted: ./,
      (of) => isRunning(of) && of.isOver,
    ],
    [/^its next cluster waits until /, (of) => isRunning(of) && of.isOver],
    [
      /^is cancelled at (\S+Z), as the primary tasks of its group have ended$/,
      (of, at) => isRunning(of) && !isPast(at),
    ],
    [/^waits until its cluster is deleted/, (of) => isLeaving(of) && of.task.pool_id === null],
    [/^waits until worker \S+ /, (of) => isLeaving(of) || of.isOver],
  ];

/** Whether nothing has to be said: its status and its reason tell all. */
const isPlain = (of: Waiting): boolean =>
  (isRunning(of) && of.isHeard && !of.isOver) || (of.task.status === "STARTING" && !isUp(of));

/**
 * Whether a task that control has just looked at must say what it waits for. Its status says enough only while its
 * cluster comes up without a problem, or is deleted.
 */
const isOwed = ({ task, cluster }: Pick<Waiting, "task" | "cluster">): boolean =>
  ["PENDING", "STARTING", "RECOVERING"].includes(task.status) &&
  task.wanted === "DONE" &&
  cluster?.wanted !== "GONE" &&
  (cluster === undefined || cluster.status === "UP" || cluster.problem !== null);

function isTrue(of: Waiting, words: string): boolean {
  const row = reasons.find(([pattern]) => pattern.test(words));
  return row?.[1](of, row[0].exec(words)?.[1]) ?? false;
}

/** How long it may take until a task says what it waits for: what has failed is tried again after a minute at most. */
export const waitBoundsMs = { usual: 20_000, troubled: 75_000 };

/** Opens them on the database of control; `attemptOf` says what its node knows of the present attempt at a task. */
export function openWaitChecks(
  tasks: () => readonly Task[],
  attemptOf: (task: Task) => Attempt | undefined,
): WaitChecks {
  const clusters = prepare(present);
  /** What tasks say that is wrong, and since when. */
  const wrong = new Map<string, { readonly since: number; readonly what: string }>();
  /** The tasks that said nothing although they must, as the last look at them left them. */
  const silent = new Map<string, string>();

  function listWaiting(isHeard: IsHeard): Waiting[] {
    const standing = new Map(rows<Cluster>(clusters).map((one) => [one.id, one]));
    const open = tasks().filter(({ settled_at: settledAt }) => settledAt === null);
    return open.map((task) => {
      const attempt = attemptOf(task);
      return {
        task,
        ofJob: tasks().filter((one) => one.job_id === task.job_id),
        cluster: standing.get(task.cluster_id ?? ""),
        isHeard: isHeard(task.cluster_id ?? ""),
        isOver: attempt === undefined || !isWell(attempt),
      };
    });
  }

  return {
    passed(id) {
      const task = tasks().find((one) => one.id === id);
      const cluster = rows<Cluster>(clusters).find((one) => one.id === task?.cluster_id);
      const isSilent = task !== undefined && task.waits_for === null && isOwed({ task, cluster });
      const what = `${task?.status}, attempt ${task?.attempt}: ${cluster?.status} ${cluster?.problem}`;
      // What it waits for may have come about during the first look; the second one must see it.
      if (isSilent && silent.get(id) === what)
        throw new Violation("a task was looked at and does not say what it waits for", what);
      silent.delete(id);
      if (isSilent) silent.set(id, what);
    },
    look(now, isHeard, boundMs) {
      const before = new Map(wrong);
      wrong.clear();
      for (const of of isHeard === undefined ? [] : listWaiting(isHeard)) {
        const { id, status, wanted, attempt, waits_for: words } = of.task;
        if (words === null ? isPlain(of) : isTrue(of, words)) continue;
        const what = `${status}, wanted ${wanted}, attempt ${attempt}: ${words}`;
        const known = before.get(id);
        const since = known?.what === what ? known.since : now;
        if (now - since > boundMs)
          throw new Violation("a task does not say what it waits for", what);
        wrong.set(id, { since, what });
      }
    },
  };
}
