import { type ManagedJobStatus, managedJobMachine } from "../../contract/statuses.ts";
import type { Cluster } from "../clusters/schema.ts";
import type { Agent } from "../doors/agent.ts";
import type { User } from "../requests/schema.ts";

/** What a user submitted: tasks that control runs to their end, whatever happens to machines. */
export interface ManagedJob {
  /** Its number, which is never used again. */
  readonly id: number;
  readonly name: string;
  /** How its tasks run: one after the other, or side by side; null where there is only one. */
  readonly execution: "serial" | "parallel" | null;
  /** Which copy of what was submitted it is, from 0. */
  readonly rank: number;
  readonly copies: number;
  readonly joined: Membership | null;
  readonly user: User;
  readonly workspace: string;
  /** The pool on whose workers it runs; null where it has clusters of its own. */
  readonly pool: string | null;
  /** The command line that submitted it. */
  readonly command: string;
  readonly priority: number;
  readonly submittedAt: number;
}

/** How a job belongs to a job group that it has joined. */
export interface Membership {
  /** The job that is the group. */
  readonly rootId: number;
  /** Its number in the group, behind those of the group's own tasks. */
  readonly number: number;
  /** The job and its task that submitted it. */
  readonly parentId: number;
  readonly parentNumber: number | null;
}

/** What a job runs. */
export interface JobDocument {
  /** The tasks, secrets included. */
  readonly yaml: string;
  readonly blobId: string | null;
}

/** A task of a job, with the attempt at it that is under way or was the last. Instants are epoch milliseconds. */
export interface JobTask {
  /** Unique for ever. */
  readonly id: string;
  readonly job: ManagedJob;
  /** Its number in the job, from 0. */
  readonly number: number;
  readonly name: string;
  /** Whether its job group has run to its end only when it has. */
  readonly isPrimary: boolean;
  /** How long it may go on once the primary tasks of its group have ended. */
  readonly delayMs: number;
  /** What it asks for, for people. */
  readonly resources: string;
  /** The pool on whose workers it runs, and what it takes of one; null where it has clusters of its own. */
  readonly poolId: string | null;
  readonly share: Share | null;
  /** How long an attempt may live while its machines do not hear control; null has no limit. */
  readonly leaseMs: number | null;
  /** Since when it waits for a worker; null while it does not. */
  readonly queuedAt: number | null;
  readonly status: ManagedJobStatus;
  /** Why it has that status, for people. */
  readonly reason: string;
  /** What it waits for, and what would end that; null while it does not wait. */
  readonly waitsFor: string | null;
  /** What it waits for behind others (`places.ts`). */
  readonly queuedFor: "job" | "launch" | "turn" | null;
  readonly queuedRank: number | null;
  /** When its first attempt began, until nothing of it is left. */
  readonly begunAt: number | null;
  /** Since when it counts as being launched. */
  readonly launchingAt: number | null;
  /** The event up to which its callback was run, at first `nothingTold`; null where it has none to run. */
  readonly calledBack: number | null;
  readonly wanted: "DONE" | "CANCELLED";
  readonly wantedBecause: string;
  /** From 1; 0 before the first. */
  readonly attempt: number;
  /** The cluster of the attempt, which may not be made yet; null between attempts. */
  readonly clusterId: string | null;
  readonly clusterName: string;
  /** The job on that cluster; null until it was submitted. */
  readonly clusterJob: number | null;
  /** The cluster of the next attempt, where that is made before this one has ended. */
  readonly nextClusterId: string | null;
  /** Where it runs, or ran last: `ssh/lab`. */
  readonly infra: string | null;
  /** How often it was running again after it had lost its cluster or failed. */
  readonly recoveries: number;
  /** How often it was tried again because it had failed, of those that are limited. */
  readonly restarts: number;
  /** How often in a row its own setup or run failed soon after it had begun. */
  readonly failures: number;
  /** How long earlier attempts ran. */
  readonly ranMs: number;
  /** Since when the present one runs. */
  readonly runAt: number | null;
  readonly startedAt: number | null;
  readonly recoveredAt: number | null;
  readonly endedAt: number | null;
  /** When nothing of it was left, once it had ended. */
  readonly settledAt: number | null;
  readonly statusChangedAt: number;
}

/** Before any event, even that the task was submitted. */
export const nothingTold = -1;

/** What a task of a pool waits for. */
export const waitForWorker = ({ pool }: Pick<ManagedJob, "pool">): string =>
  `waits for an idle worker of pool ${pool}`;

/** The same where no worker that is ready could ever take it. */
export const waitForFittingWorker = (pool: string, { resources }: Pick<JobTask, "resources">) =>
  `waits for a worker of pool ${pool} that can take it: no present one can, as it needs ${resources}`;

/** What a task takes of each node of a worker. */
export interface Share {
  readonly nodes: number;
  /** The first that the worker has counts. One that asks for nothing takes the whole worker. */
  readonly ways: readonly Way[];
  /** The files that it brings: tasks with others would overwrite them. */
  readonly files: string | null;
}

/** So many processors and gigabytes; 0 where the task does not say. */
export interface Way {
  readonly cpus: number;
  readonly memoryGb: number;
  readonly accelerators: { readonly name: string; readonly count: number } | null;
}

/** The id that an attempt was handed in under: that of its own cluster, or one of its own on a worker. */
export const submissionOf = (task: JobTask): string =>
  task.poolId === null ? (task.clusterId ?? "") : submissionIn(task);

/** The id that an attempt was handed in under to a worker. */
export const submissionIn = ({ id, attempt }: Pick<JobTask, "id" | "attempt">): string =>
  `${id}-${attempt}`;

/** The id of the task whose attempt was handed in to a worker under this id. */
export const taskOfSubmission = (submissionId: string): string => submissionId.split("-")[0] ?? "";

/** What a step makes of a task. */
export interface Outcome {
  readonly to: ManagedJobStatus;
  readonly reason: string;
  readonly change?: TaskChange;
  /** Something else wakes the task once there is a next step to take. */
  readonly isWoken?: boolean;
}

/** What a step comes to: `again` where the next one can be taken at once, undefined where it cannot. */
export type Result = Outcome | "again" | undefined;

/** What may change of a task beside its status and what is wanted of it. */
export type TaskChange = Partial<
  Omit<JobTask, "id" | "job" | "number" | "status" | "statusChangedAt" | "wanted" | "wantedBecause">
>;

/** What a task is that waits behind others. */
export type Waiting = Pick<JobTask, "queuedFor" | "queuedRank" | "waitsFor">;

/** How many copies of a new job find room in a queue, and what the others are that do not. */
export interface Room {
  readonly room: number;
  readonly waiting: Waiting;
}

/** It waits behind others no more. */
export const dequeued: TaskChange = { queuedFor: null, queuedRank: null };

/** The key that wakes those who wait for a task or its log. */
export const taskKey = (id: string): string => `managed_job:${id}`;

/** How people call a task among those of its job. */
export const calledInJob = ({ number, name }: Pick<JobTask, "number" | "name">): string =>
  `task ${number} (${name})`;

/** How people call a task. */
export const calledBy = (task: Pick<JobTask, "job" | "number" | "name">): string =>
  `managed job ${task.job.id}${task.job.execution === null ? "" : `, ${calledInJob(task)}`}`;

export const hasEnded = ({ status }: Pick<JobTask, "status">): boolean =>
  managedJobMachine.isFinal(status);

/** The statuses of tasks that have not ended. */
export const openStatuses: readonly ManagedJobStatus[] = managedJobMachine.names.filter(
  (status) => !managedJobMachine.isFinal(status),
);

/** A task whose attempts have a lease. */
export interface LeasedTask extends Pick<JobTask, "id"> {
  readonly leaseMs: number;
}

export const hasLease = (task: JobTask): task is JobTask & LeasedTask => task.leaseMs !== null;

/** What control knows of the lease of an attempt. Instants are of the steady clock. */
export interface LeaseState {
  /** When it has run out for sure on each node that does not answer; null where all do. */
  readonly until: number | null;
  readonly isOver: boolean;
}

/** The leases of attempts: control renews them for as long as it wants their clusters. */
export interface JobLeases {
  /** Renews the lease of an attempt from now on, and says how it is. */
  keep(task: LeasedTask, cluster: Cluster): LeaseState;
  /** Whether the lease of a cluster's attempt is being renewed. */
  has(clusterId: string | null): boolean;
  /** Gives each node its lease, before anything runs there; false where one is over already. Throws where a node does not answer. */
  begin(task: LeasedTask, cluster: Cluster, signal: AbortSignal): Promise<boolean>;
  stop(): Promise<void>;
}

/** The copies of the logs of attempts, which grow as their jobs print. */
export interface JobLogs {
  /** Copies the log of an attempt whose job was submitted, and what `grew` tells of, until it is dropped. */
  keep(task: JobTask): void;
  /** The log of a job on a cluster has grown. */
  grew(cluster: Pick<Cluster, "id">, jobId: number): void;
  /** Copies the log of an attempt as soon as it grows, until the answer is disposed of. */
  follow(task: JobTask): Disposable;
  /**
   * Resolves once the log is here up to its end, or its cluster is not wanted any more. Rejects on abort, and when
   * nothing of it came for so long.
   */
  whole(
    task: JobTask,
    how: {
      readonly silentMs: number;
      /** Whether its job is known to have ended. */
      readonly isOver: boolean;
    },
    signal: AbortSignal,
  ): Promise<void>;
  /** Copies no more of it; resolves once what is on its way was written. */
  drop(task: JobTask): Promise<void>;
  /** Copies what lies on the head of a cluster that lost it, of the logs of attempts that are not whole. */
  rest(clusterId: string, head: Agent, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}
