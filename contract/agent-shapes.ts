import * as z from "zod";
import { Lifecycle } from "./lifecycle-shapes.ts";
import { jobMachine, partMachine } from "./statuses.ts";

/** The shapes of what control and an agent say to each other; instants are epoch milliseconds. */

const Millis = z.int().min(0);
const Env = z.record(z.string(), z.string());

/** What a node is told about itself before it takes jobs. */
export const NodeSettings = z.object({
  clusterId: z.string().min(1),
  clusterName: z.string().min(1),
  rank: z.int().min(0),
  /** One address a node, by rank. */
  addresses: z.array(z.string()).min(1),
  cloud: z.string(),
  region: z.string().nullable().default(null),
  zone: z.string().nullable().default(null),
  cpus: z.number().positive(),
  accelerators: z.object({ name: z.string(), count: z.int().positive() }).nullable().default(null),
});
export type NodeSettings = z.output<typeof NodeSettings>;

/** How long what runs on the node may live without control (`lease.ts`). */
export const LeaseRenewal = z.object({
  clusterId: z.string().min(1),
  leaseMs: z.int().positive(),
  /** Null before the first answer. */
  heard: z.number().nullable(),
});
export type LeaseRenewal = z.output<typeof LeaseRenewal>;

/** What a job takes from its nodes while it runs; counted per node. */
export const Demand = z.object({
  cpus: z.number().min(0).default(0.5),
  accelerators: z.number().min(0).default(0),
});
export type Demand = z.output<typeof Demand>;

/** The most that a job gets of each of its nodes; all but the log needs control groups. */
export const Limits = z.object({
  memoryBytes: z.int().positive().optional(),
  cpus: z.number().positive().optional(),
  processes: z.int().positive().optional(),
  /** Of its log on the head; the beginning and the end are kept. */
  logBytes: z.int().positive().optional(),
});
export type Limits = z.output<typeof Limits>;

/** What stands before the server that a job runs: only requests with the key reach it. */
export const JobSidecar = z.object({
  /** Where requests come. */
  listen: z.object({ host: z.string(), port: z.int().min(1).max(65_535) }),
  /** Where the server listens on loopback: its `$PORT`. */
  serverPort: z.int().min(1).max(65_535),
  /** Kept sealed on disk, and in no command line. */
  key: z.string().min(1),
});
export type JobSidecar = z.output<typeof JobSidecar>;

/** A job as it is handed to the head agent. */
export const JobSubmission = z.object({
  /** Chosen by the caller; the same id twice is the same job. */
  submissionId: z.string().min(1),
  /** The number of the cluster's last job, as control knows it; a new head continues from there. */
  lastJobId: z.int().min(0).default(0),
  name: z.string(),
  userId: z.string(),
  userName: z.string(),
  /** Bash text, run on every rank before any rank's `run`; null runs nothing. */
  setup: z.string().nullable(),
  /** Skip `setup` on nodes that have completed the same one last. */
  reusesSetup: z.boolean().default(false),
  /** Bash text; null ends the job once it is set up. */
  run: z.string().nullable(),
  env: Env,
  /** As `env`; kept sealed on disk and out of every answer but a part's. */
  secrets: Env.default({}),
  /** On rank 0 the `run` is wrapped by a sidecar; null has none. */
  sidecar: JobSidecar.nullable().default(null),
  /** How many nodes it takes, from rank 0 up. */
  nodes: z.int().positive().default(1),
  demand: Demand.prefault({}),
  limits: Limits.default({}),
  /** Text for people: `1x[CPU:0.5]`. */
  resources: z.string().default(""),
  metadata: z.record(z.string(), z.unknown()).default({}),
});
export type JobSubmission = z.output<typeof JobSubmission>;

/** Whether a job has neither a setup nor a run. */
export const runsNothing = ({ setup, run }: Pick<JobSubmission, "setup" | "run">): boolean =>
  setup === null && run === null;

/** One rank of a job as the head sees it. */
export const JobPart = z.object({
  rank: z.int().min(0),
  /** What the head wants of the rank now. */
  wanted: z.enum(["setup", "run", "end"]),
  /** How long its processes have after TERM, once `end` is wanted. */
  graceMs: Millis,
  status: z.enum(partMachine.names),
  exitCode: z.int().nullable(),
  /** Bytes of the rank's log that the head has. */
  logBytes: z.int().min(0),
});
export type JobPart = z.output<typeof JobPart>;

/** A job as the head agent tells it. */
export const Job = z.object({
  id: z.int().positive(),
  submissionId: z.string(),
  name: z.string(),
  userId: z.string(),
  userName: z.string(),
  status: z.enum(jobMachine.names),
  /** Why, where the status alone does not say: `rank 1 exited with 3`; of a queued job, what it waits for. */
  reason: z.string().nullable(),
  exitCode: z.int().nullable(),
  submittedAt: Millis,
  startedAt: Millis.nullable(),
  endedAt: Millis.nullable(),
  nodes: z.int().positive(),
  resources: z.string(),
  logPath: z.string(),
  metadata: z.record(z.string(), z.unknown()),
});
export type Job = z.output<typeof Job>;

/** Everything a worker needs to run its rank. */
export const PartSpec = z.object({
  jobId: z.int().positive(),
  setup: z.string().nullable(),
  reusesSetup: z.boolean().default(false),
  run: z.string().nullable(),
  /** Every variable but those of the node itself (rank, addresses). */
  env: Env,
  secrets: Env,
  demand: Demand,
  limits: Limits.default({}),
  nodes: z.int().positive(),
});
export type PartSpec = z.output<typeof PartSpec>;

/** One rank of a job as its own node tells it. */
export const Part = z.object({
  jobId: z.int().positive(),
  status: z.enum(partMachine.names),
  exitCode: z.int().nullable(),
  /** Why, where the exit code does not say. */
  reason: z.string().nullable(),
  logBytes: z.int().min(0),
});
export type Part = z.output<typeof Part>;

/** When the node stops by itself; `idleMs` null switches it off. */
export const Autostop = z.object({
  idleMs: z.int().min(0).nullable(),
  down: z.boolean().default(false),
  waitFor: z.enum(["jobs_and_ssh", "jobs", "none"]).default("jobs_and_ssh"),
});
export type Autostop = z.output<typeof Autostop>;

/** What the idle timer sees. Once its time is over, the agent begins a lifecycle. */
export const Idle = Autostop.extend({
  /** Null while something keeps it alive. */
  idleSince: Millis.nullable(),
  /** When a stop or teardown begins if nothing happens until then. */
  stopsAt: Millis.nullable(),
  /** `job 3`, `ssh`, `hook 1 of 2 (stop)`. */
  keptAliveBy: z.array(z.string()),
});
export type Idle = z.output<typeof Idle>;

/**
 * Something that happened on the node. A reader that was away asks again from the last `seq` it
 * saw; events older than the agent keeps are left out, so a reader also compares the state itself.
 */
export const AgentEvent = z.object({
  seq: z.int().positive(),
  at: Millis,
  kind: z.enum(["job", "part", "idle", "lifecycle", "journal", "mount"]),
  jobId: z.int().positive().optional(),
  lifecycleId: z.string().optional(),
  /** The status it now has; of `idle`, IDLE or BUSY; of `journal`, REBUILT; of `mount`, LOST, MOUNTED, WRITTEN or UNWRITTEN. A lifecycle tells of each of its hooks too. */
  status: z.string(),
  /** What happened, for people; of `mount` alone. */
  text: z.string().optional(),
});
export type AgentEvent = z.output<typeof AgentEvent>;

/** Told between events, at most once a second for each job, and kept for nobody: the log of a job has grown. */
export interface LogGrowth {
  readonly kind: "log";
  readonly jobId: number;
}

export const Health = z.object({
  version: z.string(),
  /** Which code it runs, in the words of whoever started it. */
  build: z.string(),
  pid: z.int(),
  bootId: z.string(),
  startedAt: Millis,
  /** Null until control has told the node who it is. */
  node: NodeSettings.nullable(),
  /** The version of the hooks it has; null before the first. */
  hooksVersion: z.string().nullable(),
  /** The lifecycle that is under way: it has no end yet. */
  lifecycle: Lifecycle.pick({ id: true, cause: true, events: true, status: true }).nullable(),
  lastSeq: z.int().min(0),
  /** When a corrupt journal was last replaced, and where the agent keeps it. */
  rebuilt: z.object({ at: Millis, aside: z.string() }).nullable().default(null),
});
export type Health = z.output<typeof Health>;
