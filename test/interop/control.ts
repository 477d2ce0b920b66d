import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { killGroup } from "./command.ts";

/** On this port existing clients believe to be on the control plane's own machine. */
const portOfLocalMode = 46_580;
const program = resolve(import.meta.dirname, "../../bin/outrigger");
const readyWithinMs = 60_000;
const stopWithinMs = 60_000;

/** A control plane of our own, on loopback. */
export interface Control {
  readonly url: string;
  readonly logFile: string;
  /** Ends it as a service manager would; its exit code, null when it had to be killed. */
  stop(): Promise<number | null>;
}

/** Starts a control plane that keeps everything in a folder, and waits until it answers. */
export async function startControl(
  home: string,
  settings: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Control> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const logFile = join(home, "control.out");
  await mkdir(home, { recursive: true });
  const log = await open(logFile, "a");
  const args = ["api", "start", "--foreground", "--host", "127.0.0.1", "--port", String(port)];
  const own = { PATH: process.env["PATH"], HOME: home, OUTRIGGER_HOME: join(home, ".outrigger") };
  const env = { ...own, ...settings };
  const child = spawn(program, args, { env, detached: true, stdio: ["ignore", log.fd, log.fd] });
  const ended = once(child, "exit");
  ended.catch(() => {});
  await log.close();
  try {
    await untilHealthy(url, child, AbortSignal.any([signal, AbortSignal.timeout(readyWithinMs)]));
  } catch (cause) {
    killGroup(child.pid);
    const text = await readFile(logFile, "utf8");
    throw new Error(`the control plane did not start; it wrote:\n${text}`, { cause });
  }
  return { url, logFile, stop: () => stop(child) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  const port = typeof address === "object" && address !== null ? address.port : portOfLocalMode;
  return port === portOfLocalMode ? freePort() : port;
}

async function untilHealthy(url: string, child: ChildProcess, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(url, signal))) {
    if (child.exitCode !== null) throw new Error(`it exited with ${child.exitCode}`);
    await delay(50, undefined, { signal });
  }
}

async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch(`${url}/api/health`, { signal })).ok;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function stop(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit", { signal: AbortSignal.timeout(stopWithinMs) });
    child.kill("SIGTERM");
    await ended.catch(() => killGroup(child.pid));
  }
  return child.exitCode;
}

/** Kills whatever `processesOf` finds. */
export async function killProcessesOf(folder: string): Promise<void> {
  for (const { pid } of await processesOf(folder)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** Processes that were started with a folder of ours in their environment or command line. */
export async function processesOf(folder: string): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter(Number.isInteger);
  const found = pids.map(async (pid) => {
    if (pid === process.pid) return [];
    const read = (file: string) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "");
    const [command, env] = [await read("cmdline"), await read("environ")];
    if (!command.includes(folder) && !env.includes(folder)) return [];
    return [{ pid, command: command.replaceAll("\0", " ").trim() }];
  });
  return (await Promise.all(found)).flat();
}
