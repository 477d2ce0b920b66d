import { renewEveryMs } from "../../contract/lease.ts";
import { type ManagedJobStatus, managedJobMachine } from "../../contract/statuses.ts";
import { type FakeJob, isOver } from "../helpers/fake-node.ts";
import {
  type Attempt,
  checkLog,
  describeAttempt,
  isUnjudged,
  isWell,
  outcomesOf,
} from "./attempts.ts";
import { openCallbackChecks } from "./callback-checks.ts";
import { type Move, Violation } from "./checks.ts";
import { reading } from "./database.ts";
import { variableOf } from "./job-wishes.ts";
import { openOrderChecks } from "./order-checks.ts";
import { checkRoom } from "./pool-checks.ts";
import { jobLimits } from "./program.ts";
import { openWaitChecks, type WaitChecks } from "./wait-checks.ts";

/** Looks at managed jobs: at their rows, and at what their nodes know of them. */
export interface JobChecks {
  /** What holds after each commit. */
  committed(moved: readonly Move[], written?: ReadonlySet<string>): void;
  /** A job was begun on a cluster, of an attempt or not; one that is doomed loses a machine soon. */
  began(job: FakeJob, clusterId: string, isDoomed: boolean): void;
  /** A machine of a cluster goes down; where it is doomed it does not come back. */
  hurt(clusterId: string, isDoomed: boolean): void;
  /** The lease of a node of a cluster ends, although that was in touch with control for so long. */
  leaseEnds(clusterId: string, leaseMs: number, inTouchForMs: number): void;
  /** What runs on a cluster is out of reach, and goes on. */
  abandoned(clusterId: string): void;
  /** What holds where control ends what runs on a cluster, or one job; false where that is no managed job's. */
  ending(what: { readonly clusterId: string } | { readonly id: string }): boolean;
  /** What holds when a machine of a cluster is about to be made. */
  makingNew(clusterId: string): void;
  /** A script is told of a change. */
  readonly calledBack: ReturnType<typeof openCallbackChecks>["began"];
  /** The cluster of `job 2`, or of another job that goes on where that does not. */
  clusterOf(name: string): string | undefined;
  readonly waits: WaitChecks;
  /** Tasks of which something is left. */
  unsettled(): string[];
}

export interface Task {
  id: string;
  job_id: number;
  number: number;
  /** Whether its job is a pipeline or a group. */
  execution: "serial" | "parallel" | null;
  is_primary: number;
  priority: number;
  pool_id: string | null;
  status: ManagedJobStatus;
  wanted: string;
  wanted_because: string;
  queued_for: string | null;
  waits_for: string | null;
  attempt: number;
  cluster_id: string | null;
  next_cluster_id: string | null;
  recoveries: number;
  restarts: number;
  launching_at: number | null;
  settled_at: number | null;
  called_back: number | null;
}

/** A live cluster of a task. */
interface Cluster {
  id: string;
  name: string;
  status: string;
  wanted: string;
  task: string;
}

const ofTask =
  "job_tasks.id, job_id, number, is_primary, pool_id, status, wanted, wanted_because, queued_for, waits_for, attempt, cluster_id, next_cluster_id, recoveries, restarts, launching_at, settled_at, called_back";
const allTasks = `SELECT ${ofTask}, execution, priority FROM job_tasks
  JOIN managed_jobs ON managed_jobs.id = job_id ORDER BY job_id, number`;
const liveClusters = `SELECT id, name, status, wanted, made_for ->> 'id' AS task FROM clusters
  WHERE made_for ->> 'noun' = 'managed_job' AND status <> 'GONE'`;
/** What is counted, without what there is. */
const miscounted = `SELECT user_id, status, sum(tasks) AS surplus, sum(jobs) AS jobs_surplus FROM (
    SELECT user_id, workspace, status, tasks, jobs FROM job_task_counts
    UNION ALL SELECT user_id, workspace, status, -1, -(number = 0) FROM job_tasks
  ) GROUP BY user_id, workspace, status HAVING surplus <> 0 OR jobs_surplus <> 0`;

/** From these a task that can run goes nowhere but on. */
const comingUp: readonly string[] = ["PENDING", "STARTING", "RECOVERING"];
const goesOn: readonly string[] = ["STARTING", "RUNNING", "CANCELLING"];

const unbegun = { status: managedJobMachine.initial, attempt: 0, restarts: 0 };

/** The id that its attempt is handed in under. */
const submissionOf = ({ id, pool_id, cluster_id, attempt }: Task): string =>
  pool_id === null ? (cluster_id ?? "") : `${id}-${attempt}`;

/** The task whose attempt on a worker was handed in under an id. */
const taskOn = (submissionId: string): string => submissionId.split("-")[0] ?? "";

/** A renewal that began before has to end first; then two of them follow each other, sooner than this. */
const renewedWithinMs = (leaseMs: number): number =>
  Math.min(10_000, leaseMs / 5) + 2 * renewEveryMs(leaseMs) + 4_000;

/** Opens them on the database of control; `folder` is where control keeps the logs of tasks. */
export function openJobChecks(folder: string): JobChecks {
  const taskRows = reading<Task>(allTasks, "job_tasks", "managed_jobs");
  const clusterRows = reading<Cluster>(liveClusters, "clusters");
  const wrongCounts = reading<object>(miscounted, "job_task_counts", "job_tasks", "managed_jobs");
  let found: readonly Task[] = [];
  let clusters: readonly Cluster[] = [];
  let before = new Map<string, Task>();
  let tasks = new Map<string, Task>();
  /** The tasks that clusters were made for. */
  const owners = new Map<string, string>();
  /** By the ids that they were handed in under. */
  const attempts = new Map<string, Attempt>();
  /** How often each task was moved to RUNNING. */
  const runs = new Map<string, number>();

  const order = openOrderChecks();
  const callbacks = openCallbackChecks();
  const liveOn = (clusterId: string) =>
    [...attempts.values()]
      .filter((one) => one.clusterId === clusterId && !isOver(one.job.status))
      .map(({ job }) => job);
  const attemptsOf = (taskId: string) =>
    [...attempts.values()].filter((one) => one.taskId === taskId);

  function checkCounts(written?: ReadonlySet<string>): void {
    for (const wrong of wrongCounts(written))
      throw new Violation("counts of jobs do not add up", JSON.stringify(wrong));
  }

  function checkLimits(): void {
    const all = [...tasks.values()];
    const begun = all.filter(
      (task) => task.attempt > 0 && task.settled_at === null && task.pool_id === null,
    );
    const jobs = new Set(begun.map((task) => task.job_id)).size;
    const launches = all.filter((task) => task.launching_at !== null).length;
    const { managedJobsAtMost, jobLaunchesAtOnce } = jobLimits;
    if (jobs > managedJobsAtMost || launches > jobLaunchesAtOnce)
      throw new Violation("more jobs are under way than may be", `${jobs}, launched ${launches}`);
  }

  /** What nodes know decides whether a move is right. */
  function checkMove({ subject_id: id, from_status: from, to_status: to }: Move): void {
    const [was, is] = [before.get(id), tasks.get(id)];
    const attempt = was && attempts.get(submissionOf(was));
    if (to === "RUNNING") runs.set(id, (runs.get(id) ?? 0) + 1);
    if (to === "RUNNING" && attempt === undefined)
      throw new Violation("a job runs without an attempt", id);
    if (comingUp.includes(from) && !goesOn.includes(to))
      throw new Violation("a job that can run is given up", `${from} to ${to}`);
    if (from !== "RUNNING" || to === "CANCELLING" || attempt === undefined) return;
    if (isWell(attempt)) throw new Violation("a healthy attempt is called over", to);
    const isRight = outcomesOf(attempt, was?.restarts ?? 0).some(
      (one) => one.to === to && one.restarts === is?.restarts,
    );
    if (!isRight)
      throw new Violation(
        "an attempt is judged wrongly",
        `${to} with ${is?.restarts} restarts: ${describeAttempt(attempt)}`,
      );
    attempt.isJudged = true;
  }

  function checkTask(task: Task): void {
    const { id, status, attempt, recoveries, restarts, settled_at: settledAt } = task;
    const was = before.get(id) ?? { ...task, ...unbegun };
    const isSettled = settledAt !== null;
    const [wasSo, isSo] = [was, task].map((one) => `${one.status}, wanted ${one.wanted}`);
    if (managedJobMachine.isFinal(was.status) && isSo !== wasSo)
      throw new Violation("a job that ended changes", `${wasSo}, then ${isSo}`);
    if (![was.attempt, was.attempt + 1].includes(attempt))
      throw new Violation("attempts are counted wrongly", `${was.attempt}, then ${attempt}`);
    const mayRestart = was.status === "RUNNING" && status === "RECOVERING";
    if (restarts !== was.restarts && !(mayRestart && restarts === was.restarts + 1))
      throw new Violation("restarts are counted wrongly", `${was.restarts}, then ${restarts}`);
    if (recoveries !== Math.max(0, (runs.get(id) ?? 0) - 1))
      throw new Violation("recoveries are counted wrongly", `${recoveries} of ${runs.get(id)}`);
    if (!isSettled || before.get(id)?.settled_at === settledAt) return;
    if (!managedJobMachine.isFinal(status))
      throw new Violation("nothing is left of a job that goes on", status);
    for (const one of attemptsOf(id)) {
      if (!isOver(one.job.status) && !one.isAbandoned)
        throw new Violation("an attempt outlives its job", id);
      checkLog(one, folder);
    }
  }

  function checkCluster({ id, name, wanted, task: taskId }: Cluster): void {
    const task = tasks.get(taskId);
    const isOfTask = id === task?.cluster_id || id === task?.next_cluster_id;
    if (task === undefined || task.settled_at !== null || !isOfTask)
      throw new Violation("a cluster outlives its attempt", name);
    const attempt = attempts.get(id);
    const isDue = task.status === "RUNNING" && task.wanted === "DONE";
    if (wanted === "GONE" && isDue && attempt !== undefined && isWell(attempt))
      throw new Violation("the cluster of a healthy attempt is taken down", name);
  }

  return {
    committed(moved, written) {
      const [tasksBefore, clustersBefore] = [found, clusters];
      found = taskRows(written);
      clusters = clusterRows(written);
      before = tasks;
      checkCounts(written);
      if (found !== tasksBefore) tasks = new Map(found.map((task) => [task.id, task]));
      callbacks.committed(found, moved);
      for (const { id, task } of clusters) owners.set(id, task);
      for (const { id, status } of clusters) if (status === "UP") order.up(id);
      for (const move of moved) if (move.noun === "managed_job") checkMove(move);
      if (found === tasksBefore && clusters === clustersBefore) return;
      checkLimits();
      order.committed(before, found);
      for (const task of tasks.values()) checkTask(task);
      for (const cluster of clusters) checkCluster(cluster);
    },
    began(job, clusterId, isDoomed) {
      const { submissionId } = job;
      const taskId = owners.get(submissionId) ?? taskOn(submissionId);
      const task = tasks.get(taskId);
      if (task === undefined) return;
      const earlier = attemptsOf(taskId);
      if (attempts.has(submissionId)) throw new Violation("an attempt begins again", submissionId);
      if (earlier.some((one) => !isOver(one.job.status)))
        throw new Violation("two attempts of a job are live", taskId);
      if (earlier.some(isUnjudged)) throw new Violation("an exit is taken for a loss", taskId);
      const [told, first] = [job, earlier[0]?.job ?? job].map((one) => variableOf(one, "TASK_ID"));
      if (told !== first) throw new Violation("attempts differ in their task id", `${told}`);
      const recoveries = Number(variableOf(job, "RECOVERY_COUNT"));
      if (recoveries !== (runs.get(taskId) ?? 0))
        throw new Violation("an attempt is told wrong recoveries", `${recoveries}`);
      const jobTasks = found.filter((one) => one.job_id === task.job_id);
      order.began(task, jobTasks, (id) => runs.has(id));
      if (task.pool_id !== null) checkRoom([job, ...liveOn(clusterId)]);
      const hurt = isDoomed ? "running" : "no";
      const number = task.attempt;
      const attempt = { taskId, number, clusterId, job, hurt } as const;
      attempts.set(submissionId, { ...attempt, isJudged: false, isAbandoned: false });
    },
    hurt(clusterId, isDoomed) {
      for (const attempt of attempts.values()) {
        if (attempt.clusterId !== clusterId || attempt.hurt !== "no") continue;
        if (!isOver(attempt.job.status)) attempt.hurt = "running";
        else if (isDoomed) attempt.hurt = "over";
      }
    },
    leaseEnds(clusterId, leaseMs, inTouchForMs) {
      const isWanted = clusters.some(({ id, wanted }) => id === clusterId && wanted === "UP");
      const isDue = tasks.get(owners.get(clusterId) ?? "")?.wanted === "DONE";
      if (isWanted && isDue && inTouchForMs > renewedWithinMs(leaseMs))
        throw new Violation("a lease ends while its node is in touch", `for ${inTouchForMs} ms`);
    },
    abandoned(clusterId) {
      for (const one of attempts.values()) if (one.clusterId === clusterId) one.isAbandoned = true;
    },
    ending(what) {
      const isIt = (id: string, one: Attempt) =>
        "id" in what ? what.id === id : what.clusterId === one.clusterId;
      const ended = [...attempts].filter(([id, one]) => isIt(id, one));
      for (const [id, { taskId, job, hurt }] of ended) {
        const isWanted = tasks.get(taskId)?.wanted === "DONE";
        if (isWanted && hurt === "no" && job.exitCode === null)
          throw new Violation("a healthy attempt is ended", id);
      }
      return ended.length > 0 || ("id" in what && owners.has(what.id));
    },
    makingNew(clusterId) {
      const hurt = attempts.get(clusterId)?.hurt ?? "no";
      if (hurt !== "no") throw new Violation("a lost machine of a job is made anew", clusterId);
    },
    clusterOf(name) {
      const live = found.filter((one) => one.settled_at === null && one.cluster_id !== null);
      const place = Number(/^job (\d+)$/.exec(name)?.[1]);
      const task = live.find((one) => one.job_id === place) ?? live[place % live.length];
      return task?.cluster_id ?? undefined;
    },
    calledBack: callbacks.began,
    waits: openWaitChecks(
      () => found,
      (task) => attempts.get(submissionOf(task)),
    ),
    unsettled() {
      const rows = taskRows();
      const open = rows.filter((task) => task.settled_at === null);
      return [
        ...open.map((task) => `managed job ${task.job_id} is ${task.status}: ${task.waits_for}`),
        ...callbacks.untold(rows),
      ];
    },
  };
}
