import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as allText } from "node:stream/consumers";
import { type Client, openClient } from "../../client/sdk.ts";
import { endTree } from "../../common/end-processes.ts";
import { listProcesses, type ProcessStat } from "../../common/process-tree.ts";
import { until } from "./agent.ts";

/** A real control plane on a home of its own, and a client that speaks to it. */
export interface TestControl {
  /** A short path; node homes lie under `nodes`. */
  readonly home: string;
  readonly endpoint: string;
  readonly client: Client;
  readonly pid: number;
  /** Starts it again on the same home and port. */
  start(): Promise<void>;
  /** Ends it alone; answers its exit code, null when the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Runs the real command line to its end. */
  cli(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>;
}

export interface ControlOptions {
  /** More settings, such as `OUTRIGGER_LOCAL_ACCELERATORS`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Makes the path of the home at least this long. */
  readonly homeLength?: number;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const root = join(import.meta.dirname, "../..");
/** Short waits, for longer than any restart takes. */
const delaysMs = Array<number>(300).fill(50);

/**
 * Starts a control plane. Once the test is over everything that it started is ended; the test fails
 * when a process is left that belongs to no node, or that outlives its node.
 */
export async function startControl(
  t: Cleaner,
  { env = {}, homeLength = 0 }: ControlOptions = {},
): Promise<TestControl> {
  const folder = mkdtempSync(join(tmpdir(), "o-"));
  const home = join(folder, "h".repeat(Math.max(1, homeLength - folder.length - 1)));
  mkdirSync(home);
  let close = async () => {};
  t.after(async () => {
    await close();
    const strays = await endAll(home);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    if (strays.length > 0) throw new Error(`left over: ${strays.join("; ")}`);
  });
  const control = await openControl(home, environmentOf(home, env));
  close = async () => {
    await control.client.close();
    await control.end("SIGKILL");
  };
  return control;
}

async function openControl(home: string, env: Record<string, string>): Promise<TestControl> {
  let { process, port } = await startProcess(home, { ...env, OUTRIGGER_PORT: "0" });
  const endpoint = `http://127.0.0.1:${port}`;
  const identity = { id: "u1", name: "ana" };
  return {
    home,
    endpoint,
    client: openClient({ endpoint, identity, delaysMs, origin: "a test" }),
    get pid() {
      return process.pid ?? 0;
    },
    async start() {
      ({ process, port } = await startProcess(home, { ...env, OUTRIGGER_PORT: String(port) }));
    },
    async end(signal) {
      const exit = hasEnded(process) ? undefined : once(process, "exit");
      process.kill(signal);
      await exit;
      return process.exitCode;
    },
    cli: (...words) => runCli(words, home, { ...env, OUTRIGGER_ENDPOINT: endpoint }),
  };
}

async function runCli(words: string[], cwd: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [join(root, "client/main.ts"), ...words], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([
    allText(child.stdout),
    allText(child.stderr),
    once(child, "close"),
  ]);
  return { code: child.exitCode, stdout, stderr };
}

/** The homes of the nodes that there are. */
export const listNodeHomes = (home: string): string[] =>
  listFolder(join(home, "nodes")).map((name) => join(home, "nodes", name));

/** The living processes that know of a folder, by their environment or command line. */
export const processesOf = (folder: string): ProcessStat[] =>
  listProcesses().filter(
    ({ pid, alive }) => alive && pid !== process.pid && surroundingsOf(pid).includes(folder),
  );

/** The most memory that a process ever had, in bytes. Source: proc(5), VmHWM. */
export function peakMemoryOf(pid: number): number {
  const [, kilobytes = ""] = /^VmHWM:\s+(\d+) kB/m.exec(readProc(pid, "status")) ?? [];
  return Number(kilobytes) * 1024;
}

/** The agent that serves a node's home now. */
export function findAgent(nodeHome: string): number | undefined {
  const agents = processesOf(`HOME=${nodeHome}\0`);
  return agents.find(({ pid }) => readProc(pid, "cmdline").includes("agent/main.ts"))?.pid;
}

function environmentOf(home: string, env: Readonly<Record<string, string>>) {
  const { PATH = "", NODE_COMPILE_CACHE = join(tmpdir(), "outrigger-compile-cache") } = process.env;
  return { HOME: home, OUTRIGGER_HOME: home, USER: "ana", PATH, NODE_COMPILE_CACHE, ...env };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

/** Resolves once it listens, with the port; throws what it logged when it leaves instead. */
async function startProcess(home: string, env: Record<string, string>) {
  const log = join(home, "control.log");
  const out = openSync(log, "a", 0o600);
  const child = spawn(process.execPath, [join(root, "control/main.ts")], {
    env,
    stdio: ["ignore", out, out],
  });
  closeSync(out);
  const port = await until(() => {
    if (hasEnded(child)) throw new Error(`control did not start: ${readFileSync(log, "utf8")}`);
    return readPort(join(home, "control.pid"), child.pid);
  });
  return { process: child, port };
}

function readPort(file: string, pid: number | undefined): number | undefined {
  if (!existsSync(file)) return undefined;
  const holder: { pid: number; port?: number } = JSON.parse(readFileSync(file, "utf8"));
  return holder.pid === pid ? holder.port : undefined;
}

/** Ends every process of a home; describes those that nothing of ours would have ended. */
async function endAll(home: string): Promise<string[]> {
  const nodes = listNodeHomes(home);
  const isOfNode = ({ pid }: ProcessStat) =>
    nodes.some((node) => surroundingsOf(pid).includes(`HOME=${node}\0`));
  const strays = processesOf(home).filter((process) => !isOfNode(process));
  const described = strays.map(({ pid, name }) => `${name} ${readProc(pid, "cmdline")}`);
  for (const node of nodes) await endTree({ roots: [], mark: `HOME=${node}` }, 0);
  for (const { pid } of processesOf(home)) process.kill(pid, "SIGKILL");
  return described;
}

const surroundingsOf = (pid: number): string => readProc(pid, "environ") + readProc(pid, "cmdline");

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

function listFolder(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
