import { spawn } from "node:child_process";
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
import { errorCodeOf } from "../../common/errors.ts";
import { listProcesses, listTerminals, type ProcessStat } from "../../common/process-tree.ts";
import { hasEnded, nodeTree, until } from "./agent.ts";
import { claimPorts, type OwnPorts } from "./ports.ts";
import { mainOf, testedArgs } from "./tested.ts";

/** A real control plane on a home of its own, and a client that speaks to it. */
export interface TestControl {
  /** A short path; node homes lie under `nodes`. */
  readonly home: string;
  readonly endpoint: string;
  readonly client: Client;
  readonly pid: number;
  /** What its services may listen on. */
  readonly ports: OwnPorts;
  /** Starts it again on the same home and port, with the code of this checkout; settings replace those it has. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
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
  /** The folder of bundles of another build, which runs until control is started again. */
  readonly bundles?: string | undefined;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

/** Short waits, for longer than any restart takes. */
const delaysMs = Array<number>(300).fill(50);

/**
 * Starts a control plane. Once the test is over everything that it started is ended; the test fails
 * when a process is left that belongs to no node, or that outlives its node.
 */
export async function startControl(
  t: Cleaner,
  { env = {}, homeLength = 0, bundles }: ControlOptions = {},
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
  const ports = await claimPorts(t);
  const control = await openControl(home, environmentOf(home, ports, env), ports, bundles);
  close = async () => {
    await control.client.close();
    await control.end("SIGKILL");
  };
  return control;
}

async function openControl(
  home: string,
  env: Record<string, string>,
  ports: OwnPorts,
  bundles: string | undefined,
): Promise<TestControl> {
  const first = controlArgs(bundles);
  let { process, port } = await startProcess(home, first, { ...env, OUTRIGGER_PORT: "0" });
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    ...{ home, endpoint, ports },
    client: openClient({ endpoint, delaysMs, origin: "a test" }),
    get pid() {
      return process.pid ?? 0;
    },
    async start(settings) {
      const samePort = { ...env, OUTRIGGER_PORT: String(port), ...settings };
      ({ process, port } = await startProcess(home, controlArgs(), samePort));
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
  const child = spawn(process.execPath, [mainOf("outrigger"), ...words], {
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
export function findAgent(nodeHome: string, main = mainOf("agent")): number | undefined {
  const agents = processesOf(`HOME=${nodeHome}\0`);
  return agents.find(({ pid }) => commandOf(pid).includes(main))?.pid;
}

/** Why no node here is ever idle; false when one can be. */
export const whyNeverIdle = (): string | false =>
  listTerminals().length > 0 &&
  "who sits at an SSH terminal keeps every node of this machine awake";

/** Holds a node's new agent still, before anybody can reach it unless we sleep; lets it go again when called. */
export async function freezeAgent(nodeHome: string, main?: string): Promise<() => void> {
  const pid = await until(() => findAgent(nodeHome, main));
  process.kill(pid, "SIGSTOP");
  return () => process.kill(pid, "SIGCONT");
}

function environmentOf(
  home: string,
  { balancers, replicas }: OwnPorts,
  env: Readonly<Record<string, string>>,
) {
  const { PATH = "", NODE_COMPILE_CACHE = join(tmpdir(), "outrigger-compile-cache") } = process.env;
  const ports = { OUTRIGGER_BALANCER_PORTS: balancers, OUTRIGGER_REPLICA_PORTS: replicas };
  return {
    HOME: home,
    OUTRIGGER_HOME: home,
    USER: "ana",
    PATH,
    NODE_COMPILE_CACHE,
    ...ports,
    ...env,
  };
}

/** The arguments that Node.js runs control with: that of this code, or of a folder of bundles. */
function controlArgs(bundles?: string): string[] {
  const args = testedArgs("control");
  return bundles === undefined ? args : args.with(-1, join(bundles, "control.mjs"));
}

/** Resolves once it listens, with the port; throws what it logged when it leaves instead. */
async function startProcess(home: string, args: string[], env: Record<string, string>) {
  const log = join(home, "control.log");
  const out = openSync(log, "a", 0o600);
  const child = spawn(process.execPath, args, {
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

/** How long whatever a killed program was just running has to end. */
const strayMs = 10_000;

/** Ends every process of a home; describes those that nothing of ours would have ended. */
async function endAll(home: string): Promise<string[]> {
  const nodes = listNodeHomes(home);
  const isStray = ({ pid }: ProcessStat) => {
    const surroundings = surroundingsOf(pid);
    return surroundings !== "" && !nodes.some((node) => surroundings.includes(`HOME=${node}\0`));
  };
  const end = Date.now() + strayMs;
  const strays = await until(() => {
    const found = processesOf(home).filter(isStray);
    return found.length === 0 || Date.now() > end ? found : undefined;
  });
  const described = strays.map(({ pid, name }) => `${name} ${commandOf(pid)}`);
  for (const node of nodes) await endTree(nodeTree(node), 0);
  for (const { pid } of processesOf(home)) kill(pid);
  return described;
}

/** Kills a process; one that has ended meanwhile is as good. */
export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (errorCodeOf(error) !== "ESRCH") throw error;
  }
}

/** The command line of a process; empty once it is gone. */
export const commandOf = (pid: number): string => readProc(pid, "cmdline");

const surroundingsOf = (pid: number): string => readProc(pid, "environ") + commandOf(pid);

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
