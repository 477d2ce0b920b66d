import type { Changes } from "../../common/changes.ts";
import { fail } from "../../common/errors.ts";
import type { Growth } from "../../common/log-growth.ts";
import {
  type AgentEvent,
  type Autostop,
  type Idle,
  type Job,
  type JobSubmission,
  type LeaseRenewal,
  type NodeSettings,
  runsNothing,
} from "../../contract/agent-shapes.ts";
import type { ContainerOrder } from "../../contract/containers-api.ts";
import type { VolumeSource } from "../../contract/files-api.ts";
import type { HookSet } from "../../contract/lifecycle-shapes.ts";
import { type JobStatus, jobMachine } from "../../contract/statuses.ts";
import type { FakeLifecycle } from "./fake-lifecycles.ts";

/** A job on a fake node: it runs until the test ends it. */
export interface FakeJob extends Job {
  submission: JobSubmission;
  text: string;
  growth: Growth[];
  /** What of the text was left out: an answer ends there. */
  gap: { readonly from: number; readonly to: number } | null;
  /** What its processes listen on. */
  ports: number[];
}

/** What an agent would hold on disk; it outlives the agent. */
export interface FakeNode {
  readonly id: string;
  readonly socket: string;
  settings: NodeSettings | null;
  autostop: Autostop;
  /** The lease that it was given; whether that has run out is for the test to say. */
  lease: LeaseRenewal | null;
  isLeaseOver: boolean;
  /** What the idle timer sees besides its setting. */
  idle: Partial<Idle>;
  hooks: HookSet | null;
  /** What its scripts would run in. */
  container?: ContainerOrder;
  /** Oldest first. */
  readonly lifecycles: FakeLifecycle[];
  /** How many of them the node began by itself. */
  ownLifecycles: number;
  /** A hook runs until the test ends it; otherwise it succeeds at once. */
  holdsHooks: boolean;
  /** What comes before a call of any row; it may throw. */
  onCall(name: string): void;
  /** What comes before a lifecycle is begun for control; it may throw. */
  onBegin(): void;
  /** What comes once it is begun, and before that is answered; it may throw. */
  onBegun(): void;
  /** What comes before the idle timer is asked; it may throw. */
  onGetIdle(): void;
  /** What comes once lifecycles are listed, and before that is answered. */
  onListed(): void | Promise<void>;
  /** What comes before a hook's log is read; it may throw. */
  onReadLog(): void;
  /** What comes once files were offered for a destination; it may throw. */
  onOffer(): void | Promise<void>;
  /** Destinations that files were offered for, as often as they were. */
  readonly offered: string[];
  /** Volumes that were attached: where, from where, and which folder of them. */
  readonly attached: [destination: string, source: VolumeSource, subPath: string][];
  readonly jobs: FakeJob[];
  readonly events: AgentEvent[];
  /** For each who reads its events, the jobs whose logs have grown meanwhile. */
  readonly readers: Set<Set<number>>;
  /** How many follow the logs of its jobs now. */
  followers: number;
  /** Its agent is an older one, which does not tell when logs grow. */
  isOld: boolean;
}

export const aFakeNode = (id: string, socket: string): FakeNode => ({
  id,
  socket,
  settings: null,
  autostop: { idleMs: null, down: false, waitFor: "jobs_and_ssh" },
  lease: null,
  isLeaseOver: false,
  idle: {},
  hooks: null,
  lifecycles: [],
  ownLifecycles: 0,
  holdsHooks: false,
  onCall() {},
  onBegin() {},
  onBegun() {},
  onListed() {},
  onReadLog() {},
  onGetIdle() {},
  onOffer() {},
  offered: [],
  attached: [],
  jobs: [],
  events: [],
  readers: new Set(),
  followers: 0,
  isOld: false,
});

export const isOver = (status: JobStatus): boolean => jobMachine.isFinal(status);

export const getJob = ({ jobs }: FakeNode, id: number): FakeJob =>
  jobs.find((job) => job.id === id) ?? fail("JobNotFoundError", `there is no job ${id}`);

export const toJob = ({
  submission: _,
  text: __,
  growth: ____,
  ports: ___,
  ...job
}: FakeJob): Job => job;

export function addJob(node: FakeNode, changes: Changes, submission: JobSubmission): FakeJob {
  const known = node.jobs.find(({ submissionId }) => submissionId === submission.submissionId);
  if (known !== undefined) return known;
  const open = node.lifecycles.find(({ endedAt }) => endedAt === null);
  if (open !== undefined && !runsNothing(submission))
    fail("ConflictError", `the node is about to leave (${open.because})`, { lifecycle: open.id });
  const id = Math.max(node.jobs.length, submission.lastJobId) + 1;
  const { submissionId, name, userId, userName, nodes, resources, metadata } = submission;
  const job: FakeJob = {
    ...{ id, submissionId, name, userId, userName, nodes, resources, metadata },
    status: runsNothing(submission) ? "SUCCEEDED" : "RUNNING",
    reason: null,
    exitCode: null,
    submittedAt: 1_000,
    startedAt: 2_000,
    endedAt: null,
    logPath: `jobs/${id}/run.log`,
    submission,
    text: "",
    gap: null,
    growth: [],
    ports: [],
  };
  node.jobs.push(job);
  addEvent(node, changes, { kind: "job", jobId: id, status: job.status });
  return job;
}

export function endJob(node: FakeNode, changes: Changes, job: FakeJob, status: JobStatus): void {
  if (isOver(job.status)) return;
  Object.assign(job, { status, endedAt: 3_000 });
  addEvent(node, changes, { kind: "job", jobId: job.id, status });
}

export function addEvent(
  node: FakeNode,
  changes: Changes,
  event: Omit<AgentEvent, "seq" | "at">,
): void {
  node.events.push({ seq: node.events.length + 1, at: 1_000, ...event });
  changes.notify("job");
}

export const more = <T extends { length: number }>(found: T): T | undefined =>
  found.length > 0 ? found : undefined;
