import { once } from "node:events";
import { openLog } from "../../agent/log.ts";
import { type Bound, serve } from "../../agent/server.ts";
import { type Changes, openChanges } from "../../common/changes.ts";
import { fail } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type {
  AgentEvent,
  Autostop,
  Job,
  JobSubmission,
  NodeSettings,
} from "../../contract/agent-shapes.ts";
import { type JobStatus, jobMachine } from "../../contract/statuses.ts";

/** A job on a fake node: it runs until the test ends it. */
export interface FakeJob extends Job {
  submission: JobSubmission;
  text: string;
}

/** What an agent would hold on disk; it outlives the agent. */
export interface FakeNode {
  readonly id: string;
  readonly socket: string;
  settings: NodeSettings | null;
  autostop: Autostop;
  /** The idle timer has run out. */
  due: boolean;
  /** Somebody is about to stop it: it takes no jobs. */
  claimed: boolean;
  /** What comes before a claim is answered. */
  onClaim(): void;
  readonly jobs: FakeJob[];
  readonly events: AgentEvent[];
}

/** An agent that speaks its real API and runs nothing. */
export interface FakeAgent {
  readonly node: FakeNode;
  /** Calls that it was sent, by the names of their rows. */
  readonly calls: string[];
  print(jobId: number, text: string): void;
  end(jobId: number, status: JobStatus): void;
  /** Has the idle timer run out. */
  becomeIdle(): void;
  /** Has a job arrive that control sent on its way just before it claims the idle node. */
  submitOnClaim(submission: JobSubmission): void;
  /** Ends the agent alone; its node stays. */
  close(): Promise<void>;
}

export const aFakeNode = (id: string, socket: string): FakeNode => ({
  id,
  socket,
  settings: null,
  autostop: { idleMs: null, down: false, waitFor: "jobs_and_ssh" },
  due: false,
  claimed: false,
  onClaim() {},
  jobs: [],
  events: [],
});

/** Starts an agent on the socket of a node. */
export async function startFakeAgent(node: FakeNode): Promise<FakeAgent> {
  const changes = openChanges();
  const calls: string[] = [];
  const log = openLog("error");
  const bound = counted(bind(node, changes), calls);
  const server = await serve(agentOperations, bound, { socket: node.socket, log });
  return {
    node,
    calls,
    print(jobId, text) {
      getJob(node, jobId).text += text;
      changes.notify("job");
    },
    end: (jobId, status) => endJob(node, changes, getJob(node, jobId), status),
    becomeIdle() {
      node.due = true;
      addEvent(node, changes, { kind: "idle", status: "due" });
    },
    submitOnClaim(submission) {
      node.onClaim = () => void addJob(node, changes, submission);
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Rows = typeof agentOperations;

/** The same, but each call is written down. */
function counted(bound: Bound<Rows>, calls: string[]): Bound<Rows> {
  const entries = Object.entries(bound).map(([name, run]) => [
    name,
    (...given: never[]) => {
      calls.push(name);
      return (run as (...given: never[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(entries);
}

const notHere = (): never => fail("NotImplementedError", "a fake agent has no ranks");

function bind(node: FakeNode, changes: Changes): Bound<Rows> {
  const health = () => ({
    version: "0",
    build: "0",
    pid: 1,
    bootId: "boot",
    startedAt: 0,
    node: node.settings,
    lastSeq: node.events.length,
  });
  const idle = () => ({
    ...node.autostop,
    idleSince: null,
    stopsAt: null,
    keptAliveBy: [],
    due: node.due,
  });
  return {
    health,
    configure(settings) {
      node.settings = settings;
      return health();
    },
    submit: (submission) => toJob(addJob(node, changes, submission)),
    listJobs: ({ active, user, limit }) =>
      node.jobs
        .filter(({ status, userId }) => !(active && isOver(status)) && userId === (user ?? userId))
        .toReversed()
        .slice(0, limit)
        .map(toJob),
    getJob: ({ id }) => toJob(getJob(node, id)),
    cancelJob({ id }) {
      endJob(node, changes, getJob(node, id), "CANCELLED");
      return toJob(getJob(node, id));
    },
    readLog({ id, offset, follow }, { signal }) {
      const job = getJob(node, id);
      const headers = { "log-offset": String(offset) };
      const content = textOf(changes, job, offset, follow, signal);
      return { type: "application/octet-stream", headers, content };
    },
    setAutostop(autostop) {
      node.autostop = autostop;
      node.due = false;
      node.claimed = false;
      return idle();
    },
    getIdle: idle,
    claimIdle() {
      node.onClaim();
      node.claimed = node.due;
      return idle();
    },
    events: ({ after }, { signal }) => ({
      type: "application/x-ndjson",
      content: linesOf(changes, node, after, signal),
    }),
    listParts: notHere,
    getPartSpec: notHere,
    reportPart: notHere,
    appendPartLog: notHere,
    putPart: notHere,
    readPartLog: notHere,
  };
}

const isOver = (status: JobStatus): boolean => jobMachine.isFinal(status);

const getJob = ({ jobs }: FakeNode, id: number): FakeJob =>
  jobs.find((job) => job.id === id) ?? fail("JobNotFoundError", `there is no job ${id}`);

const toJob = ({ submission: _, text: __, ...job }: FakeJob): Job => job;

function addJob(node: FakeNode, changes: Changes, submission: JobSubmission): FakeJob {
  const known = node.jobs.find(({ submissionId }) => submissionId === submission.submissionId);
  if (known !== undefined) return known;
  if (node.claimed) fail("ConflictError", "the node is about to stop");
  const id = node.jobs.length + 1;
  const { submissionId, name, userId, userName, nodes, resources, metadata } = submission;
  const job: FakeJob = {
    ...{ id, submissionId, name, userId, userName, nodes, resources, metadata },
    status: "RUNNING",
    reason: null,
    exitCode: null,
    submittedAt: 1_000,
    startedAt: 2_000,
    endedAt: null,
    logPath: `jobs/${id}/run.log`,
    submission,
    text: "",
  };
  node.jobs.push(job);
  node.due = false;
  addEvent(node, changes, { kind: "job", jobId: id, status: job.status });
  return job;
}

function endJob(node: FakeNode, changes: Changes, job: FakeJob, status: JobStatus): void {
  if (isOver(job.status)) return;
  Object.assign(job, { status, endedAt: 3_000 });
  addEvent(node, changes, { kind: "job", jobId: job.id, status });
}

function addEvent(node: FakeNode, changes: Changes, event: Omit<AgentEvent, "seq" | "at">): void {
  node.events.push({ seq: node.events.length + 1, at: 1_000, ...event });
  changes.notify("job");
}

async function* linesOf(changes: Changes, node: FakeNode, after: number, signal: AbortSignal) {
  for (let seen = after; !signal.aborted; ) {
    const fresh = await changes
      .until("job", async () => more(node.events.slice(seen)), signal)
      .catch(() => []);
    for (const event of fresh) yield `${JSON.stringify(event)}\n`;
    seen += fresh.length;
  }
}

async function* textOf(
  changes: Changes,
  job: FakeJob,
  offset: number,
  follow: boolean,
  signal: AbortSignal,
) {
  for (let at = offset; ; ) {
    const fresh = await changes.until(
      "job",
      async () => more(job.text.slice(at)) ?? (follow && !isOver(job.status) ? undefined : ""),
      signal,
    );
    if (fresh === "") return;
    at += fresh.length;
    yield fresh;
  }
}

const more = <T extends { length: number }>(found: T): T | undefined =>
  found.length > 0 ? found : undefined;
