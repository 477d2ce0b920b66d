import { managedJobMachine } from "../../contract/statuses.ts";
import { Violation } from "./checks.ts";
import type { Task } from "./job-checks.ts";

/** Looks at what the tasks of a job mean for each other, and at who goes first. */
export interface OrderChecks {
  /** The cluster of a task is up. */
  up(clusterId: string): void;
  /** An attempt at a task begins; which tasks have run before. */
  began(task: Task, ofJob: readonly Task[], hasRun: (taskId: string) => boolean): void;
  /** What holds after a commit that changed tasks. */
  committed(before: ReadonlyMap<string, Task>, now: readonly Task[]): void;
}

const { isFinal } = managedJobMachine;
const hasSucceeded = ({ status }: Task): boolean => status === "SUCCEEDED";
const isOver = ({ status }: Task): boolean => isFinal(status);
const hasFailed = (task: Task): boolean => isOver(task) && !hasSucceeded(task);

/** Why a task that nobody cancelled is cancelled, and what then has to be of the other ones. */
const reasons: Readonly<Record<string, (others: readonly Task[], task: Task) => boolean>> = {
  "before it is": (others, { number }) =>
    others.some((one) => one.number === number - 1 && hasFailed(one)),
  "of its group is": (others) => others.some((one) => one.is_primary === 1 && hasFailed(one)),
  "the primary tasks of its group have ended": (others) =>
    others.every((one) => one.is_primary === 0 || hasSucceeded(one)),
};

export function openOrderChecks(): OrderChecks {
  const wereUp = new Set<string>();

  function checkTogether(
    task: Task,
    ofJob: readonly Task[],
    hasRun: (taskId: string) => boolean,
  ): void {
    for (const { id, cluster_id: clusterId, ...other } of ofJob) {
      const isPast = isFinal(other.status) || other.wanted === "CANCELLED" || hasRun(id);
      if (id !== task.id && !isPast && !wereUp.has(clusterId ?? ""))
        throw new Violation("a group does not begin together", `${task.id} before ${id}`);
    }
  }

  /** By what the other tasks of its job are, and what they were. */
  function checkCancelled(task: Task, others: readonly Task[]): void {
    for (const [words, isSo] of Object.entries(reasons))
      if (task.wanted_because.includes(words) && !isSo(others, task))
        throw new Violation("a task is cancelled for what is not so", task.wanted_because);
  }

  return {
    up: (clusterId) => void wereUp.add(clusterId),
    began(task, ofJob, hasRun) {
      if (task.execution === "parallel" && !hasRun(task.id)) checkTogether(task, ofJob, hasRun);
      const earlier = ofJob.filter((one) => one.number < task.number);
      if (task.execution === "serial" && !earlier.every(hasSucceeded))
        throw new Violation("a pipeline is out of order", `${task.job_id}: ${task.number}`);
    },
    committed(before, now) {
      for (const task of now) {
        const was = before.get(task.id);
        const isCancelled = task.wanted === "CANCELLED" && was?.wanted !== "CANCELLED";
        const others = () => now.filter((one) => one.job_id === task.job_id && one !== task);
        if (isCancelled) checkCancelled(task, others());
        const isLaunched = was?.launching_at === null && task.launching_at !== null;
        // What is launched ahead of its attempt has no turn.
        if (isLaunched && task.attempt !== was.attempt)
          checkFirst(
            task,
            now.filter(isQueued).filter(({ id }) => isQueued(before.get(id))),
          );
      }
    },
  };
}

/** Whether a task waits for its launch; one that is cancelled has no turn any more. */
const isQueued = (task: Task | undefined): boolean =>
  task?.queued_for === "launch" && task.wanted !== "CANCELLED";

/** What is launched has the highest priority of those that go on waiting for that, or is the oldest of these. */
function checkFirst(task: Task, waiting: readonly Task[]): void {
  const ahead = waiting.find((one) => one.id !== task.id && isAhead(one, task));
  if (ahead !== undefined)
    throw new Violation("a job is launched out of turn", `${task.job_id} before ${ahead.job_id}`);
}

function isAhead(one: Task, other: Task): boolean {
  if (one.priority !== other.priority) return one.priority > other.priority;
  if (one.job_id !== other.job_id) return one.job_id < other.job_id;
  return one.number < other.number;
}
