import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { endTree } from "../../common/end-processes.ts";
import {
  bareStream,
  type GivenInputOf,
  type Operation,
  type OutputOf,
  toHttpCall,
} from "../../common/operation.ts";
import type { Tree } from "../../common/process-tree.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import type { AgentEvent, Job, JobSubmission, NodeSettings } from "../../contract/agent-shapes.ts";
import type { JobStatus } from "../../contract/statuses.ts";
import { listNodeGroups } from "../../control/doors/node-groups.ts";
import { unmountAll } from "./fuse.ts";
import { testedArgs } from "./tested.ts";

type Rows = typeof agentOperations;
type Given<Name extends keyof Rows> = GivenInputOf<Rows[Name]>;

/** Speaks the rows of the agent at a socket. */
export interface AgentClient {
  /** Its answer; throws an `Error` whose name is the error's type. */
  call<Name extends keyof Rows>(
    name: Name,
    input: Given<Name>,
    bytes?: Uint8Array,
  ): Promise<OutputOf<Rows[Name]>>;
  /** The open answer of a `stream` row. */
  open<Name extends keyof Rows>(
    name: Name,
    input: Given<Name>,
    bytes?: Readable,
  ): Promise<{ headers: Record<string, string>; body: Readable }>;
}

/** A real agent on a home of its own, and a client that speaks its rows. */
export interface TestAgent extends AgentClient {
  readonly home: string;
  readonly pid: number;
  /** The answer to any HTTP request: status and parsed JSON. */
  request(
    method: "GET" | "POST" | "PUT",
    path: string,
    body?: string,
  ): Promise<{ status: number; json: { type: string; message: string } }>;
  /** Submits a job that runs `run`; the rest has defaults. */
  submit(run: string | null, more?: Partial<JobSubmission>): Promise<Job>;
  /** Waits until the job has one of the statuses; without any, until it ended. */
  untilJob(id: number, ...statuses: JobStatus[]): Promise<Job>;
  /** The whole log as text. */
  log(id: number): Promise<string>;
  /** Ends the agent alone with a signal; answers its exit code, null when it was killed. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Starts it again on the same home. */
  start(): Promise<void>;
}

interface Options extends Partial<NodeSettings> {
  /** Start it without telling it who it is. */
  readonly bare?: boolean;
  /** A folder to live in; otherwise it gets one of its own. */
  readonly home?: string;
  /** Settings beside those that control starts its agents on this machine with. */
  readonly env?: Readonly<Record<string, string>>;
  /** The command that starts it, which becomes it. */
  readonly through?: readonly string[];
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const finals: JobStatus[] = ["SUCCEEDED", "FAILED", "FAILED_SETUP", "FAILED_DRIVER", "CANCELLED"];
/** Only there to end a hang: a busy machine may take far longer than a quiet one. */
const patienceMs = 120_000;
/** A look costs the test and whom it asks milliseconds of processor time. */
const longestPauseMs = 20;
/** Makes the start of an agent three times as fast. */
const compileCache = join(import.meta.dirname, "../../node_modules/.cache/compiled");
let submissions = 0;

/** Starts an agent; its processes and files are gone once the test is. */
export async function startAgent(t: Cleaner, options: Options = {}): Promise<TestAgent> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "node-"));
  const pool = openPool(join(home, ".outrigger/agent/agent.sock"));
  t.after(async () => {
    await endTree(nodeTree(home), 0);
    removeContainer(home);
    await pool.destroy();
    await unmountAll(home);
    rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  });
  const begin = () => startProcess(home, options.env, options.through);
  let process = await begin();

  const agent: TestAgent = {
    ...clientOver(t, pool),
    home,
    get pid() {
      return process.pid ?? 0;
    },
    async request(method, path, body = "") {
      const answer = await pool.request({ method, path, body: method === "GET" ? null : body });
      return { status: answer.statusCode, json: (await answer.body.json()) as never };
    },
    submit: (run, more = {}) => agent.call("submit", aSubmission(run, more)),
    untilJob: (id, ...statuses) =>
      until(async () => {
        const job = await agent.call("getJob", { id });
        return (statuses.length > 0 ? statuses : finals).includes(job.status) ? job : undefined;
      }),
    async log(id) {
      return text((await agent.open("readLog", { id })).body);
    },
    async end(signal) {
      const exit = hasEnded(process) ? undefined : once(process, "exit");
      process.kill(signal);
      await exit;
      return process.exitCode;
    },
    async start() {
      process = await begin();
    },
  };
  if (!options.bare) await agent.call("configure", aNode(options));
  return agent;
}

/** Removes the container of a node, if it has one. */
export function removeContainer(home: string): void {
  const file = join(home, ".outrigger/agent/remove-container");
  if (existsSync(file)) execFileSync("sh", [file]);
}

/** All that runs for a node, and its control groups. */
export const nodeTree = (home: string): Tree => ({
  roots: [],
  mark: `HOME=${home}`,
  groups: listNodeGroups(home),
});

const openPool = (socketPath: string): Pool =>
  new Pool("http://agent", {
    connect: { socketPath },
    connections: null,
    headersTimeout: 0,
    bodyTimeout: 0,
  });

/** A client of whichever agent serves a socket; closed with the test. */
export function agentClient(t: Cleaner, socket: string): AgentClient {
  const pool = openPool(socket);
  t.after(() => pool.destroy());
  return clientOver(t, pool);
}

function clientOver(t: Cleaner, pool: Pool): AgentClient {
  async function send(row: Operation, input: unknown, bytes?: Uint8Array | Readable) {
    const { method, path, body } = toHttpCall(row, input as Record<string, unknown>);
    const sent = bytes ?? (body === undefined ? null : JSON.stringify(body));
    const answer = await pool.request({ method, path, body: sent });
    if (answer.statusCode < 400) return answer;
    const { type, message } = (await answer.body.json()) as { type: string; message: string };
    throw Object.assign(new Error(message), { name: type });
  }
  return {
    call: async (name, input, bytes) =>
      (await (await send(agentOperations[name], input, bytes)).body.json()) as never,
    async open(name, input, bytes) {
      const row: Operation = agentOperations[name];
      if (row.staysOpen) return openBare(t, pool, row, input);
      const { headers, body } = await send(row, input, bytes);
      return { headers: headers as Record<string, string>, body };
    },
  };
}

/** Opens a stream without HTTP around it, as control does. */
async function openBare(t: Cleaner, pool: Pool, row: Operation, input: unknown) {
  const { method, path } = toHttpCall(row, input as Record<string, unknown>);
  const { socket } = await pool.upgrade({ method, path, protocol: bareStream });
  t.after(async () => void socket.destroy());
  return { headers: {}, body: socket.on("error", () => {}) };
}

/** Everything a stream brings, as text. */
export async function text(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

/** The events of an open answer, one by one; leaving the loop closes it. */
export async function* eventsOf(body: Readable): AsyncGenerator<AgentEvent> {
  let rest = "";
  for await (const chunk of body.on("error", () => {})) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line);
  }
}

/** Looks again and again, ever less often, until something is found. */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  atMostMs = patienceMs,
): Promise<T> {
  const end = Date.now() + atMostMs;
  for (let pauseMs = 2; Date.now() < end; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(pauseMs);
  }
  throw new Error(`waited ${atMostMs} ms in vain for ${look}`);
}

/** What a node is told about itself. */
export const aNode = (more: Partial<NodeSettings> = {}): GivenInputOf<Rows["configure"]> => ({
  clusterId: "c1",
  clusterName: "demo",
  rank: more.rank ?? 0,
  addresses: more.addresses ?? ["127.0.0.1"],
  cloud: "local",
  cpus: more.cpus ?? 4,
  accelerators: more.accelerators ?? null,
});

/** A job as it is handed in. */
export function aSubmission(
  run: string | null,
  more: Partial<JobSubmission> = {},
): GivenInputOf<Rows["submit"]> {
  submissions += 1;
  return {
    submissionId: `submission-${submissions}`,
    name: "job",
    userId: "u1",
    userName: "ada",
    setup: null,
    run,
    env: {},
    ...more,
  };
}

/** Starts the program and waits until it listens; throws what it said when it leaves instead. */
export async function startProcess(
  home: string,
  env: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<ChildProcess> {
  const [command = "", ...words] = [...through, process.execPath, ...testedArgs("agent")];
  const child = spawn(command, words, {
    env: {
      HOME: home,
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: compileCache,
      OUTRIGGER_ON_TERM: "leave",
      OUTRIGGER_NOTICES: "none",
      ...env,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  // Read for as long as it lives, as the latest lines are wanted.
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    said = (said + chunk).slice(-10_000);
  });
  await until(() => said.includes('"listening"') || hasEnded(child) || undefined);
  if (!hasEnded(child)) return child;
  throw new Error(`the agent did not start: ${said}`);
}

/** Whether a process that we started has exited or was killed. */
export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;
