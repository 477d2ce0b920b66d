import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, openClient } from "../../client/sdk.ts";
import { endTree } from "../../common/end-processes.ts";

const root = join(import.meta.dirname, "../..");

/** How a program is started: as it lies in the checkout, or as it is shipped. */
export type Form = "source" | "bundle";

/** What a bench works in; whatever it starts and makes is gone once the bench is over. */
export interface Lab extends AsyncDisposable {
  /** Aborts when the bench has had its time. */
  readonly signal: AbortSignal;
  /** A new folder with a short path. */
  folder(): string;
  /** Where the bundle of a program lies. */
  bundle(name: string): string;
  /** Starts any program, with nothing in its environment but this and the usual. */
  program(command: string, words: string[], env?: Record<string, string>): ChildProcess;
  /** Starts Node.js on a file. */
  start(file: string, words: string[], env: Record<string, string>): ChildProcess;
  /** Starts the command line. */
  cli(form: Form, words: string[], env: Record<string, string>): ChildProcess;
  /** Starts a load generator that lies beside the benches; they talk by messages. */
  load(file: string, ...args: string[]): ChildProcess;
  /** Starts a control plane as users do and waits until it listens. */
  control(form: Form, home?: string, settings?: Record<string, string>): Promise<Control>;
}

export interface Control {
  readonly home: string;
  readonly pid: number;
  readonly endpoint: string;
  readonly client: Client;
  /** Ends control alone; its agents go on. */
  stop(): Promise<void>;
}

const nodeFlags = ["--disable-warning=ExperimentalWarning"];

/** Who the benches are. */
export const caller = { id: "bench", name: "bench" };

/** Opens a lab; `shared` keeps what all benches need: bundles and compiled code. */
export function openLab(shared: string, signal: AbortSignal): Lab {
  const cleanings: (() => Promise<unknown>)[] = [];

  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), "ob-"));
    cleanings.push(async () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
    return path;
  }

  function started(child: ChildProcess): ChildProcess {
    cleanings.push(() => end(child));
    return child;
  }

  const bundle = (name: string) => join(shared, "bundles", `${name}.mjs`);

  function program(command: string, words: string[], env: Record<string, string> = {}) {
    const { PATH = "", HOME = "/" } = process.env;
    const usual = { PATH, HOME, NODE_COMPILE_CACHE: join(shared, "compiled") };
    return started(
      spawn(command, words, {
        env: { ...usual, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
  }

  const start = (file: string, words: string[], env: Record<string, string>) =>
    program(process.execPath, [...nodeFlags, file, ...words], env);

  const load = (file: string, ...args: string[]) =>
    started(fork(join(import.meta.dirname, file), args, { execArgv: nodeFlags }));

  function cli(form: Form, words: string[], env: Record<string, string>): ChildProcess {
    const file = form === "bundle" ? bundle("outrigger") : join(root, "client/main.ts");
    return start(file, words, env);
  }

  async function control(
    form: Form,
    home = folder(),
    settings: Record<string, string> = {},
  ): Promise<Control> {
    cleanings.push(() => endNodes(home));
    const env = { OUTRIGGER_HOME: home, LOG_LEVEL: "error", ...settings };
    const child = cli(form, ["api", "start", "--foreground", "--port", "0"], env);
    child.stderr?.pipe(process.stderr, { end: false });
    const endpoint = await untilListening(home, child, signal);
    const client = openClient({ endpoint, origin: "bench", signal });
    cleanings.push(() => client.close());
    return { home, pid: child.pid ?? 0, endpoint, client, stop: () => end(child) };
  }

  return {
    signal,
    folder,
    bundle,
    program,
    start,
    cli,
    load,
    control,
    async [Symbol.asyncDispose]() {
      for (const clean of cleanings.reverse()) await clean();
    },
  };
}

/** A folder for what labs share, with the bundles in it. */
export function openShared(): Disposable & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "ob-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const words = [join(root, "bin/bundle.ts"), "--out", join(folder, "bundles")];
    execFileSync(process.execPath, words, { stdio: "inherit" });
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, [Symbol.dispose]: remove };
}

/** The folders of the nodes that a control plane has made; each is the HOME of its agent. */
export function nodeHomes(home: string): string[] {
  const nodes = join(home, "nodes");
  try {
    return readdirSync(nodes).map((name) => join(nodes, name));
  } catch {
    return [];
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill();
  const killing = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await exit;
  clearTimeout(killing);
}

async function endNodes(home: string): Promise<void> {
  for (const node of nodeHomes(home)) await endTree({ roots: [], mark: `HOME=${node}` }, 0);
}

async function untilListening(
  home: string,
  child: ChildProcess,
  signal: AbortSignal,
): Promise<string> {
  while (child.exitCode === null) {
    const address = addressIn(join(home, "control.pid"));
    if (address?.pid === child.pid && address?.port !== undefined)
      return `http://${address.host}:${address.port}`;
    await sleep(5, undefined, { signal });
  }
  throw new Error(`control ended with ${child.exitCode} before it listened`);
}

function addressIn(file: string): { pid: number; host?: string; port?: number } | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
