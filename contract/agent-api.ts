import * as z from "zod";
import { type Operation, operation } from "../common/operation.ts";
import { jobMachine, partMachine } from "./statuses.ts";

/**
 * What control and an agent promise each other: HTTP with JSON over the agent's Unix socket, which
 * control reaches through the provider's door. Every call may be repeated: `submissionId`, job ids
 * and byte offsets make the second one find the work of the first. Instants are epoch milliseconds.
 */

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

/** What a job takes from its nodes while it runs; counted per node. */
export const Demand = z.object({
  cpus: z.number().min(0).default(0.5),
  accelerators: z.number().min(0).default(0),
});
export type Demand = z.output<typeof Demand>;

/** A job as it is handed to the head agent. */
export const JobSubmission = z.object({
  /** Chosen by the caller; the same id twice is the same job. */
  submissionId: z.string().min(1),
  name: z.string(),
  userId: z.string(),
  userName: z.string(),
  /** Bash text, run on every rank before any rank's `run`; null runs nothing. */
  setup: z.string().nullable(),
  /** Bash text; null ends the job once it is set up. */
  run: z.string().nullable(),
  env: Env,
  /** As `env`; kept sealed on disk and out of every answer but a part's. */
  secrets: Env.default({}),
  /** How many nodes it takes, from rank 0 up. */
  nodes: z.int().positive().default(1),
  demand: Demand.prefault({}),
  /** Text for people: `1x[CPU:0.5]`. */
  resources: z.string().default(""),
  metadata: z.record(z.string(), z.unknown()).default({}),
});
export type JobSubmission = z.output<typeof JobSubmission>;

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
  /** Why, where the status alone does not say: `rank 1 exited with 3`. */
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
  run: z.string().nullable(),
  /** Every variable but those of the node itself (rank, addresses). */
  env: Env,
  secrets: Env,
  demand: Demand,
  nodes: z.int().positive(),
});
export type PartSpec = z.output<typeof PartSpec>;

/** One rank of a job as its own node tells it. */
export const Part = z.object({
  jobId: z.int().positive(),
  status: z.enum(partMachine.names),
  exitCode: z.int().nullable(),
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

/** What the idle timer sees. `due` stays true until autostop is set anew or a job is submitted. */
export const Idle = Autostop.extend({
  idleSince: Millis.nullable(),
  stopsAt: Millis.nullable(),
  keptAliveBy: z.array(z.string()),
  due: z.boolean(),
});
export type Idle = z.output<typeof Idle>;

/**
 * Something that happened on the node. A reader that was away asks again from the last `seq` it
 * saw; events older than the agent keeps are left out, so a reader also compares the state itself.
 */
export const AgentEvent = z.object({
  seq: z.int().positive(),
  at: Millis,
  kind: z.enum(["job", "part", "idle"]),
  /** The job's id; absent for `idle`. */
  jobId: z.int().positive().optional(),
  /** The status it now has. */
  status: z.string(),
});
export type AgentEvent = z.output<typeof AgentEvent>;

export const Health = z.object({
  version: z.string(),
  /** Which code it runs, in the words of whoever started it. */
  build: z.string(),
  pid: z.int(),
  bootId: z.string(),
  startedAt: Millis,
  /** Null until control has told the node who it is. */
  node: NodeSettings.nullable(),
  lastSeq: z.int().min(0),
});
export type Health = z.output<typeof Health>;

const access = "any";
const job = { path: z.object({ id: z.coerce.number().int().positive() }) };
const partOfJob = {
  path: job.path.extend({ rank: z.coerce.number().int().positive() }),
};
const offset = z.coerce.number().int().min(0).default(0);
const follow = z.stringbool().default(false);
const Bytes = z.unknown();

/** The agent's API, a row an operation. */
export const agentOperations = {
  health: operation({
    name: "health",
    route: "GET /health",
    mode: "sync",
    summary: "Who the agent is and whether it knows its node.",
    access,
    input: {},
    output: Health,
  }),
  configure: operation({
    name: "configure",
    route: "PUT /node",
    mode: "sync",
    summary: "Tell the node who it is. Refused while jobs run when the rank or cluster differs.",
    access,
    input: { body: NodeSettings },
    output: Health,
    errors: ["ConflictError"],
  }),
  submit: operation({
    name: "submit",
    route: "POST /jobs",
    mode: "sync",
    summary: "Queue a job on the head; a known `submissionId` answers the job it made.",
    access,
    input: { body: JobSubmission },
    output: Job,
    errors: ["ValueError", "ConflictError"],
  }),
  listJobs: operation({
    name: "listJobs",
    route: "GET /jobs",
    mode: "sync",
    summary: "Jobs by falling id; `active` leaves out those that ended.",
    access,
    input: {
      query: z.object({
        active: z.stringbool().default(false),
        user: z.string().optional(),
        limit: z.coerce.number().int().positive().optional(),
      }),
    },
    output: z.array(Job),
  }),
  getJob: operation({
    name: "getJob",
    route: "GET /jobs/{id}",
    mode: "sync",
    summary: "One job.",
    access,
    input: job,
    output: Job,
    errors: ["JobNotFoundError"],
  }),
  cancelJob: operation({
    name: "cancelJob",
    route: "POST /jobs/{id}/cancel",
    mode: "sync",
    summary:
      "End the job: TERM, `graceMs`, KILL to its whole process tree. Answers once nothing of it is left on this node.",
    access,
    input: { ...job, body: z.object({ graceMs: z.int().min(0).default(10_000) }) },
    output: Job,
    errors: ["JobNotFoundError"],
  }),
  readLog: operation({
    name: "readLog",
    route: "GET /jobs/{id}/log",
    mode: "stream",
    summary:
      "The job's log (setup, then run) from a byte offset or the last `tail` lines; with `follow` until the job ended. The header `log-offset` has the offset of the first byte.",
    access,
    input: {
      ...job,
      query: z.object({ offset, follow, tail: z.coerce.number().int().min(0).default(0) }),
    },
    output: Bytes,
    errors: ["JobNotFoundError"],
  }),
  listParts: operation({
    name: "listParts",
    route: "GET /jobs/{id}/parts",
    mode: "sync",
    summary: "The ranks of a job on several nodes, as the head sees and wants them.",
    access,
    input: job,
    output: z.array(JobPart),
    errors: ["JobNotFoundError"],
  }),
  getPartSpec: operation({
    name: "getPartSpec",
    route: "GET /jobs/{id}/spec",
    mode: "sync",
    summary: "What a worker needs to run its rank, secrets included.",
    access,
    input: job,
    output: PartSpec,
    errors: ["JobNotFoundError"],
  }),
  reportPart: operation({
    name: "reportPart",
    route: "PUT /jobs/{id}/parts/{rank}",
    mode: "sync",
    summary:
      "Tell the head how a worker's rank fares; older news than it has changes nothing. ENDED comes after the last bytes of the rank's log.",
    access,
    input: {
      ...partOfJob,
      body: z.object({ status: z.enum(partMachine.names), exitCode: z.int().nullable() }),
    },
    output: z.array(JobPart),
    errors: ["JobNotFoundError"],
  }),
  appendPartLog: operation({
    name: "appendPartLog",
    route: "POST /jobs/{id}/parts/{rank}/log",
    mode: "sync",
    summary:
      "Hand the head bytes of a worker's log from `offset`; bytes it has are skipped, a gap is refused. Answers how many it has.",
    access,
    input: {
      ...partOfJob,
      query: z.object({ offset }),
      rawBody: "application/octet-stream",
    },
    output: z.object({ logBytes: z.int().min(0) }),
    errors: ["JobNotFoundError", "ConflictError"],
  }),
  putPart: operation({
    name: "putPart",
    route: "PUT /parts/{id}",
    mode: "sync",
    summary:
      "Tell a worker what is wanted of its rank. The first call brings the spec; the barrier is that `run` comes only once every rank is READY.",
    access,
    input: {
      ...job,
      body: z.object({
        wanted: z.enum(["setup", "run", "end"]),
        graceMs: z.int().min(0).default(10_000),
        spec: PartSpec.optional(),
      }),
    },
    output: Part,
    errors: ["ValueError", "ConflictError"],
  }),
  readPartLog: operation({
    name: "readPartLog",
    route: "GET /parts/{id}/log",
    mode: "stream",
    summary: "A worker's own log of its rank from a byte offset; with `follow` until it ended.",
    access,
    input: { ...job, query: z.object({ offset, follow }) },
    output: Bytes,
    errors: ["JobNotFoundError"],
  }),
  setAutostop: operation({
    name: "setAutostop",
    route: "PUT /autostop",
    mode: "sync",
    summary: "Set the idle timer; the time before counts as activity.",
    access,
    input: { body: Autostop },
    output: Idle,
  }),
  getIdle: operation({
    name: "getIdle",
    route: "GET /autostop",
    mode: "sync",
    summary: "What the idle timer sees.",
    access,
    input: {},
    output: Idle,
  }),
  claimIdle: operation({
    name: "claimIdle",
    route: "POST /autostop/claim",
    mode: "sync",
    summary:
      "When the node is due, refuse new jobs from now on, until autostop is set anew or the node is told who it is. Answers what the idle timer sees.",
    access,
    input: {},
    output: Idle,
  }),
  events: operation({
    name: "events",
    route: "GET /events",
    mode: "stream",
    summary:
      "Events after `after`, one JSON object a line, on a response that stays open; an empty line every 5 s says the agent lives.",
    access,
    input: { query: z.object({ after: z.coerce.number().int().min(0).default(0) }) },
    output: Bytes,
  }),
} satisfies Record<string, Operation>;
