import { once } from "node:events";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { type Changes, openChanges } from "../../common/changes.ts";
import { fail } from "../../common/errors.ts";
import { openLog } from "../../common/log.ts";
import { type Bound, type Stream, serve, toJsonLines } from "../../common/server.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import { logOffsetHeader, logSizeHeader } from "../../contract/job-log.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import {
  controlsOf,
  idleOf,
  type LifecycleControls,
  lifecycleHealth,
  lifecycleRows,
} from "./fake-lifecycles.ts";
import {
  addJob,
  endJob,
  type FakeJob,
  type FakeNode,
  getJob,
  isOver,
  more,
  toJob,
} from "./fake-node.ts";

const heartbeatMs = 5_000;

/** An agent that speaks its real API and runs nothing. */
export interface FakeAgent extends LifecycleControls {
  readonly node: FakeNode;
  /** Calls that it was sent, by the names of their rows. */
  readonly calls: string[];
  /** Adds to a job's log; with an instant, in epoch milliseconds, it is recorded. */
  print(jobId: number, text: string, at?: number): void;
  end(jobId: number, status: JobStatus): void;
  /** Ends the agent alone; its node stays. */
  close(): Promise<void>;
}

/** A fake agent that serves nothing: what its rows do is called as it is. */
export interface UnservedAgent extends Omit<FakeAgent, "close"> {
  readonly bound: Bound<Rows>;
}

/** Starts an agent on the socket of a node. */
export async function startFakeAgent(node: FakeNode): Promise<FakeAgent> {
  const { bound, ...agent } = openFakeAgent(node);
  const log = openLog("agent", "error");
  const beating: typeof bound = {
    ...bound,
    events: (input, exchange) => withHeartbeats(bound.events(input, exchange) as Stream),
  };
  const server = await serve(agentOperations, beating, { socket: node.socket, log });
  // Those of streams without HTTP are no connections of the server any more.
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) =>
    sockets.add(socket.on("close", () => sockets.delete(socket))),
  );
  return {
    ...agent,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** As an agent does that runs, so that control does not take it for silent. */
function withHeartbeats({ type, content }: Stream): Stream {
  const lines = Readable.from(content);
  const heart = setInterval(() => lines.push("\n"), heartbeatMs).unref();
  return { type, content: lines.once("close", () => clearInterval(heart)) };
}

/** Makes an agent of a node that listens nowhere. */
export function openFakeAgent(node: FakeNode): UnservedAgent {
  const changes = openChanges();
  const calls: string[] = [];
  return {
    node,
    calls,
    bound: counted(bind(node, changes), node, calls),
    print(jobId, text, at) {
      const job = getJob(node, jobId);
      job.text += text;
      if (at !== undefined) job.growth.push({ size: job.text.length, at });
      if (!node.isOld) for (const grown of node.readers) grown.add(jobId);
      changes.notify("job");
    },
    end: (jobId, status) => endJob(node, changes, getJob(node, jobId), status),
    ...controlsOf(node, changes),
  };
}

type Rows = typeof agentOperations;

/** The same, but each call is written down. */
function counted(bound: Bound<Rows>, node: FakeNode, calls: string[]): Bound<Rows> {
  const entries = Object.entries(bound).map(([name, run]) => [
    name,
    (...given: never[]) => {
      calls.push(name);
      node.onCall(name);
      return (run as (...given: never[]) => unknown)(...given);
    },
  ]);
  return Object.fromEntries(entries);
}

const notHere = (): never => fail("NotImplementedError", "a fake agent has no ranks");

/** What comes of images that are not there. */
const imageProblems: Readonly<Record<string, { type: string; message: string }>> = {
  "lab/none": { type: "NotFoundError", message: "there is no such image" },
  "lab/busy": { type: "RuntimeError", message: "503 Service Unavailable" },
};

function bind(node: FakeNode, changes: Changes): Bound<Rows> {
  const health = () => ({
    version: "0",
    build: "0",
    pid: 1,
    bootId: "boot",
    startedAt: 0,
    node: node.settings,
    lastSeq: node.events.length,
    rebuilt: null,
    ...lifecycleHealth(node),
  });
  return {
    health,
    configure(settings) {
      node.settings = settings;
      return health();
    },
    putMount: ({ destination, name }) => ({
      destination,
      name,
      program: "rclone v1",
      problem: null,
    }),
    listMounts: () => [],
    putContainer(order) {
      node.container = order;
      const problem = imageProblems[order.image];
      const news = [problem ? { problem } : { done: `${order.image} is there` }];
      return toJsonLines(Readable.from(news));
    },
    renewLease(renewal) {
      node.lease = renewal;
      return { at: node.isLeaseOver ? null : performance.now() };
    },
    submit: (submission) => toJob(addJob(node, changes, submission)),
    listJobs: ({ active, user, limit }) =>
      node.jobs
        .filter(({ status, userId }) => !(active && isOver(status)) && userId === (user ?? userId))
        .toReversed()
        .slice(0, limit)
        .map(toJob),
    getJob: ({ id }) => toJob(getJob(node, id)),
    listLogGrowth: ({ id, after }) => getJob(node, id).growth.filter(({ size }) => size > after),
    listPorts: ({ id }) => [...getJob(node, id).ports],
    cancelJob({ id }) {
      endJob(node, changes, getJob(node, id), "CANCELLED");
      return toJob(getJob(node, id));
    },
    readLog({ id, offset, tail, follow }, { signal }) {
      const job = getJob(node, id);
      const { from, to } = job.gap ?? { from: 0, to: 0 };
      const wanted = Math.max(offset, offsetOfTail(job, tail));
      const start = wanted >= from ? Math.max(wanted, to) : wanted;
      const end = start < from ? from : undefined;
      const tells = node.isOld ? {} : { [logSizeHeader]: `${job.text.length}` };
      const headers = { [logOffsetHeader]: String(start), ...tells };
      const text = textOf(changes, job, { start, end, follow }, signal);
      const content = follow ? counting(node, text) : text;
      return { type: "application/octet-stream", headers, content };
    },
    setAutostop(autostop) {
      node.autostop = autostop;
      return idleOf(node);
    },
    getIdle() {
      node.onGetIdle();
      return idleOf(node);
    },
    ...lifecycleRows(node, changes, health),
    events: ({ after }, { signal }) => ({
      type: "application/x-ndjson",
      content: linesOf(changes, node, after, signal),
    }),
    async offerFiles({ destination }) {
      node.offered.push(destination);
      await node.onOffer();
      return { missing: [], files: 0, changed: 0, changedBytes: 0, removed: 0 };
    },
    async attachVolume({ destination, source, subPath }) {
      node.attached.push([destination, source, subPath]);
      await node.onOffer();
      return null;
    },
    offerAgain: () => fail("NotFoundError", "a fake agent keeps no manifests"),
    sendContents: () => ({ received: 0 }),
    listParts: () => [],
    probeSource: notHere,
    fetchContents: notHere,
    getPartSpec: notHere,
    reportPart: notHere,
    appendPartLog: notHere,
    putPart: notHere,
    readPartLog: notHere,
    listFiles: notHere,
    readFiles: notHere,
    openShell: notHere,
  };
}

async function* linesOf(changes: Changes, node: FakeNode, after: number, signal: AbortSignal) {
  const grown = new Set<number>();
  node.readers.add(grown);
  let seen = after;
  const takeNews = async () => {
    const events = node.events.slice(seen);
    const news = [...[...grown].map((jobId) => ({ kind: "log", jobId })), ...events];
    seen += events.length;
    grown.clear();
    return more(news);
  };
  try {
    while (!signal.aborted) {
      const fresh = await changes.until("job", takeNews, signal).catch(() => []);
      for (const event of fresh) yield `${JSON.stringify(event)}\n`;
    }
  } finally {
    node.readers.delete(grown);
  }
}

/** Where its last lines begin, of which each has its end. */
const offsetOfTail = ({ text }: FakeJob, lines: number): number =>
  lines === 0 ? 0 : text.length - (text.match(/.*\n/g) ?? []).slice(-lines).join("").length;

async function* counting(node: FakeNode, text: AsyncIterable<string>) {
  node.followers += 1;
  try {
    yield* text;
  } finally {
    node.followers -= 1;
  }
}

async function* textOf(
  changes: Changes,
  job: FakeJob,
  { start, end, follow }: { start: number; end: number | undefined; follow: boolean },
  signal: AbortSignal,
) {
  const isLast = () => end !== undefined || !follow || isOver(job.status);
  for (let at = start; ; ) {
    const fresh = await changes.until(
      "job",
      async () => more(job.text.slice(at, end)) ?? (isLast() ? "" : undefined),
      signal,
    );
    if (fresh === "") return;
    at += fresh.length;
    yield fresh;
  }
}
