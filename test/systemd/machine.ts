import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listProcesses } from "../../common/process-tree.ts";
import { until } from "../helpers/agent.ts";

/** A machine whose PID 1 is a real systemd, in namespaces and a control group of its own. */
export interface Machine {
  /** Its disk, as seen from here. */
  readonly disk: string;
  /** Runs a command in it, as root; never throws. */
  run(...command: string[]): Promise<Ran>;
  /** As `run`, but throws what was said when it fails; what it wrote, trimmed. */
  get(...command: string[]): Promise<string>;
  /** Its control groups, as seen from here. */
  readonly groups: string;
  /** Resolves once it is off. */
  untilOff(): Promise<void>;
  /** Turns it on again. */
  boot(): Promise<void>;
}

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Cleaner {
  after(clean: () => Promise<void>): void;
}

const root = join(import.meta.dirname, "../..");
const everyNamespace = ["-m", "-p", "-n", "-u", "-i", "-C"];
const newNamespaces = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"];
const insideEnv = ["env", "-i", "HOME=/root", "LANG=C.UTF-8"];

/** Why no machine can be had here; false when one can. */
export function whyNoMachine(): string | false {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  if (!existsSync("/lib/systemd/systemd")) return "needs the Debian package systemd";
  if (findUnified() === undefined) return "needs control groups v2";
  return false;
}

/** Boots a machine; whatever is in it ends with the test. */
export async function bootMachine(t: Cleaner): Promise<Machine> {
  const disk = mkdtempSync(join(tmpdir(), "machine-"));
  const groups = join(findUnified() ?? "", disk.slice(disk.lastIndexOf("/") + 1));
  mkdirSync(groups);
  let outer: ChildProcess | undefined;
  let init = 0;
  t.after(async () => {
    if (existsSync(groups)) writeFileSync(join(groups, "cgroup.kill"), "1");
    if (outer !== undefined) await ended(outer);
    await until(() => (isEmpty(groups) ? true : undefined));
    removeGroup(groups);
    rmSync(disk, { recursive: true, force: true });
  });

  async function run(...command: string[]): Promise<Ran> {
    const words = ["-t", String(init), ...everyNamespace, "--", ...insideEnv, ...command];
    return new Promise((resolve) => {
      execFile("nsenter", words, (error, stdout, stderr) => {
        resolve({ code: Number(error?.code ?? 0), stdout, stderr });
      });
    });
  }

  const machine: Machine = {
    disk,
    groups,
    run,
    async get(...command) {
      const { code, stdout, stderr } = await run(...command);
      if (code === 0) return stdout.trim();
      throw new Error(`${command.join(" ")} ended with ${code}: ${stdout}${stderr}`);
    },
    async untilOff() {
      if (outer !== undefined) await ended(outer);
    },
    async boot() {
      const started = startOuter(disk, groups);
      outer = started;
      init = await until(() => childOf(started));
      await until(async () => ((await isUp(machine)) ? true : undefined));
    },
  };
  await machine.boot();
  return machine;
}

/** What it leaves when this process dies dies as well. */
function startOuter(disk: string, groups: string): ChildProcess {
  const enter = `echo $$ > ${groups}/cgroup.procs; exec "$@"`;
  const unshare = ["unshare", "--fork", "--kill-child=SIGKILL", ...newNamespaces];
  const boot = [join(import.meta.dirname, "boot"), disk, root];
  const words = ["setpriv", "--pdeathsig", "SIGKILL", ...unshare, "--propagation", "private"];
  return spawn("bash", ["-c", enter, "bash", ...words, ...boot], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function childOf({ pid, exitCode }: ChildProcess): number | undefined {
  if (exitCode !== null) throw new Error(`the machine did not start: code ${exitCode}`);
  return listProcesses().find(({ parent, name }) => parent === pid && name === "systemd")?.pid;
}

async function isUp(machine: Machine): Promise<boolean> {
  const { stdout } = await machine.run("systemctl", "is-system-running");
  return ["running", "degraded"].includes(stdout.trim());
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Where the unified hierarchy is mounted for writing. */
export function findUnified(): string | undefined {
  const mounts = readFileSync("/proc/self/mounts", "utf8").split("\n");
  const rows = mounts.map((line) => line.split(" "));
  return rows.find(([, , type, how = ""]) => type === "cgroup2" && how.startsWith("rw"))?.[1];
}

const isEmpty = (group: string): boolean =>
  readFileSync(join(group, "cgroup.events"), "utf8").includes("populated 0");

function removeGroup(group: string): void {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(group, entry.name));
  rmdirSync(group);
}
