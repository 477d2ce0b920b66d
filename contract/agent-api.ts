import * as z from "zod";
import { innerOperations } from "../common/operation.ts";
import {
  Autostop,
  Health,
  Idle,
  Job,
  JobPart,
  JobSubmission,
  LeaseRenewal,
  NodeSettings,
  Part,
  PartSpec,
} from "./agent-shapes.ts";
import { containerOperations } from "./containers-api.ts";
import { fileOperations } from "./files-api.ts";
import { lifecycleOperations } from "./lifecycle-api.ts";
import { mountOperations } from "./mounts-api.ts";
import { shellOperations } from "./shell-api.ts";
import { partMachine } from "./statuses.ts";

/**
 * What control and an agent promise each other: HTTP with JSON over the agent's Unix socket, which
 * control reaches through the provider's door. Every call may be repeated: `submissionId`, job ids
 * and byte offsets make the second one find the work of the first.
 */

const job = { path: z.object({ id: z.coerce.number().int().positive() }) };
const partOfJob = {
  path: job.path.extend({ rank: z.coerce.number().int().positive() }),
};
const offset = z.coerce.number().int().min(0).default(0);
const follow = z.stringbool().default(false);
const Bytes = z.unknown();

const ownOperations = innerOperations({
  health: {
    route: "GET /health",
    summary: "Identify the agent and its node.",
    output: Health,
  },
  configure: {
    route: "PUT /node",
    summary: "Assign the node to a cluster and a rank. Refused while jobs run if either changes.",
    input: { body: NodeSettings },
    output: Health,
    errors: ["ConflictError"],
  },
  renewLease: {
    route: "PUT /lease",
    summary:
      "Give the node a lease, or renew it: its time counts from `heard`, the instant that the answer before gave. Without a renewal in time, the agent ends what runs, as in a preemption, and takes no more jobs. Answers the present instant on the node's clock, or null once the lease is over.",
    input: { body: LeaseRenewal },
    output: z.object({ at: z.number().nullable() }),
    errors: ["ConflictError"],
  },
  submit: {
    route: "POST /jobs",
    summary: "Queue a job on the head; a known `submissionId` answers the job it made.",
    input: { body: JobSubmission },
    output: Job,
    errors: ["ValueError", "ConflictError"],
  },
  listJobs: {
    route: "GET /jobs",
    summary: "Jobs by falling id; `active` leaves out those that ended.",
    input: {
      query: z.object({
        active: z.stringbool().default(false),
        user: z.string().optional(),
        limit: z.coerce.number().int().positive().optional(),
      }),
    },
    output: z.array(Job),
  },
  getJob: {
    route: "GET /jobs/{id}",
    summary: "One job.",
    input: job,
    output: Job,
    errors: ["JobNotFoundError"],
  },
  cancelJob: {
    route: "POST /jobs/{id}/cancel",
    summary:
      "End the job: TERM, `graceMs`, KILL to its whole process tree. Answers once nothing of it is left on this node.",
    input: { ...job, body: z.object({ graceMs: z.int().min(0).default(10_000) }) },
    output: Job,
    errors: ["JobNotFoundError"],
  },
  readLog: {
    route: "GET /jobs/{id}/log",
    mode: "stream",
    summary:
      "The job's log (setup, then run) from a byte offset or the last `tail` lines, and from the first line that ended at `since` (epoch milliseconds) or later; with `follow` until the job ended. The header `log-offset` has the offset of the first byte; `log-size` has how many bytes there are; events tell when there are more.",
    input: {
      ...job,
      query: z.object({
        ...{ offset, follow, tail: z.coerce.number().int().min(0).default(0) },
        since: z.coerce.number().optional(),
      }),
    },
    output: Bytes,
    errors: ["JobNotFoundError"],
  },
  listLogGrowth: {
    route: "GET /jobs/{id}/log/growth",
    summary:
      "When the bytes of the job's log after `after` were written: sizes and instants, oldest first. What lies before a size was written by its instant.",
    input: { ...job, query: z.object({ after: offset }) },
    output: z.array(z.object({ size: z.number(), at: z.number() })),
    errors: ["JobNotFoundError"],
  },
  listPorts: {
    route: "GET /jobs/{id}/ports",
    summary: "The TCP ports that processes of the job listen on at this node.",
    input: job,
    output: z.array(z.int()),
    errors: ["JobNotFoundError"],
  },
  listParts: {
    route: "GET /jobs/{id}/parts",
    summary: "The ranks of a job on several nodes, as the head sees and wants them.",
    input: job,
    output: z.array(JobPart),
    errors: ["JobNotFoundError"],
  },
  getPartSpec: {
    route: "GET /jobs/{id}/spec",
    summary: "What a worker needs to run its rank, secrets included.",
    input: job,
    output: PartSpec,
    errors: ["JobNotFoundError"],
  },
  reportPart: {
    route: "PUT /jobs/{id}/parts/{rank}",
    summary:
      "Report the state of a worker's rank to the head; older reports change nothing. ENDED comes after the last bytes of the rank's log.",
    input: {
      ...partOfJob,
      body: z.object({
        status: z.enum(partMachine.names),
        exitCode: z.int().nullable(),
        reason: z.string().nullable().default(null),
      }),
    },
    output: z.array(JobPart),
    errors: ["JobNotFoundError"],
  },
  appendPartLog: {
    route: "POST /jobs/{id}/parts/{rank}/log",
    summary:
      "Send bytes of a worker's log from `offset` to the head; known bytes are skipped, a gap is refused unless `leftOutFrom` says that the worker left out what lies before `offset`. Answers how many it has.",
    input: {
      ...partOfJob,
      query: z.object({ offset, leftOutFrom: z.coerce.number().int().min(0).optional() }),
      rawBody: "application/octet-stream",
    },
    output: z.object({ logBytes: z.int().min(0) }),
    errors: ["JobNotFoundError", "ConflictError"],
  },
  putPart: {
    route: "PUT /parts/{id}",
    summary:
      "Tell a worker what is wanted of its rank. The first call brings the spec; the barrier is that `run` comes only once every rank is READY.",
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
  },
  readPartLog: {
    route: "GET /parts/{id}/log",
    mode: "stream",
    summary:
      "A worker's own log of its rank from a byte offset; with `follow` until it ended. The header `log-offset` has the offset of the first byte.",
    input: { ...job, query: z.object({ offset, follow }) },
    output: Bytes,
    errors: ["JobNotFoundError"],
  },
  setAutostop: {
    route: "PUT /autostop",
    summary: "Set the idle timer; the time before counts as activity.",
    input: { body: Autostop },
    output: Idle,
  },
  getIdle: {
    route: "GET /autostop",
    summary: "What the idle timer sees.",
    output: Idle,
  },
  events: {
    route: "GET /events",
    mode: "stream",
    staysOpen: true,
    summary:
      "Events after `after`, one JSON object a line, on a response that stays open; an empty line every 5 s says the agent lives. Lines of the kind `log`, which have no number, say that the log of a job has grown.",
    input: { query: z.object({ after: z.coerce.number().int().min(0).default(0) }) },
    output: Bytes,
  },
});

/** The agent's API, a row an operation. */
export const agentOperations = {
  ...ownOperations,
  ...lifecycleOperations,
  ...shellOperations,
  ...fileOperations,
  ...mountOperations,
  ...containerOperations,
};
