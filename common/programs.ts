import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const fromSource = import.meta.filename.endsWith(".ts");

/**
 * What Node.js is told for each program. A smaller young generation is garbage collected more often:
 * ten thousand open requests take 70 MB less in control, an idle agent 2 MB. Without its middle
 * compiler an idle agent takes another 2.5 MB less. The sidecar's second engine comes with a warning
 * that only its authors can heed.
 */
const nodeFlags = {
  control: ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=8"],
  agent: ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=1", "--no-maglev"],
  sidecar: ["--disable-warning=DEP0060", "--max-semi-space-size=1", "--no-maglev"],
  balancer: ["--max-semi-space-size=1", "--no-maglev"],
} as const;
export type Program = keyof typeof nodeFlags;

/**
 * Where the source of each program lies, the rooms beside it that it is made of, and the bundles. An
 * agent starts sidecars, which come with it.
 */
const sources: Record<Program, { folder: string; rooms: readonly string[]; bundles: Program[] }> = {
  control: { folder: "control", rooms: [], bundles: ["control"] },
  agent: { folder: "agent", rooms: ["sidecar"], bundles: ["agent", "sidecar"] },
  sidecar: { folder: "sidecar", rooms: [], bundles: ["sidecar"] },
  balancer: { folder: "control/balancer", rooms: ["sidecar"], bundles: ["balancer"] },
};

/**
 * What starts the Node.js that we run on once more. Control sends it with a loader and libraries of its own, which are
 * used where the machine lacks them: then the loader is `process.execPath`.
 */
export const nodeProgram: string =
  basename(process.execPath) === "ld.so"
    ? join(process.execPath, "../../bin/node")
    : process.execPath;

/** The arguments that Node.js runs one of our programs with: its source, or its bundle from one. */
export const programArgs = (program: Program): string[] => [
  ...nodeFlags[program],
  fromSource
    ? join(import.meta.dirname, "..", sources[program].folder, "main.ts")
    : join(import.meta.dirname, `${program}.mjs`),
];

/** The programs that systemd starts by a unit of ours. */
export type Service = Exclude<Program, "sidecar" | "balancer">;

/** The systemd unit that a program is installed with, as it comes. */
export const unitFileOf = (program: Service): string =>
  join(import.meta.dirname, fromSource ? ".." : ".", "systemd", `outrigger-${program}.service`);

/**
 * Tells one build of a program from another: a digest of all the code it is made of, where that is
 * not the code that runs this of the bundles in a folder.
 */
export function buildOf(program: Program, folder?: string): string {
  const hash = createHash("sha256");
  for (const [name, file] of codeOf(program, folder))
    hash.update(`${name}\0`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

/** The files of a program, each with its name wherever the program lies. */
function codeOf(program: Program, bundlesIn?: string): [name: string, file: string][] {
  const here = import.meta.dirname;
  const { folder, rooms, bundles } = sources[program];
  if (bundlesIn !== undefined || !fromSource)
    return bundles.map((name) => [name, join(bundlesIn ?? here, `${name}.mjs`)]);
  return [folder, ...rooms, "common", "contract"].flatMap((room) =>
    readdirSync(join(here, "..", room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .sort()
      .map((name) => [`${room}/${name}`, join(here, "..", room, name)] as [string, string]),
  );
}

/** Waits for the first of the signals and says which it was. */
export function untilSignal(...signals: NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve(signal));
  });
}

/**
 * Has an error that nobody caught logged, and the process ended with 1. Node.js alone would write to stderr
 * itself, and wait for a reader.
 */
export function exitOnCrash(logError: (error: unknown) => void): void {
  process.once("uncaughtException", (error) => {
    logError(error);
    process.exit(1);
  });
}

/** Whoever started this process as a service and wants to hear how it is. */
export interface ServiceManager {
  /** Says that we are at work, and from then on that we still are. */
  ready(status: string): void;
  stopping(status: string): void;
}

/**
 * The systemd that started this process as a service; what is told to nobody goes nowhere. It hears
 * of us twice in the time that its watchdog grants. Node.js knows no datagrams on Unix sockets, so
 * `systemd-notify` sends them, at 4 ms of a processor each. Source: sd_notify(3), sd_watchdog_enabled(3).
 */
export function openServiceManager(
  env: Readonly<Record<string, string | undefined>>,
): ServiceManager {
  const socket = env["NOTIFY_SOCKET"];
  if (socket === undefined) return { ready() {}, stopping() {} };
  const isWatched = env["WATCHDOG_PID"] === String(process.pid);
  const graceMs = isWatched ? Number(env["WATCHDOG_USEC"]) / 1_000 : 0;
  return {
    ready(status) {
      notify(socket, "READY=1", `STATUS=${status}`);
      if (graceMs > 0) setInterval(() => notify(socket, "WATCHDOG=1"), graceMs / 2).unref();
    },
    stopping: (status) => notify(socket, "STOPPING=1", `STATUS=${status}`),
  };
}

function notify(socket: string, ...news: string[]): void {
  spawn("systemd-notify", news, {
    env: { NOTIFY_SOCKET: socket },
    stdio: ["ignore", "ignore", "inherit"],
  })
    .once("error", (error) => process.emitWarning(error))
    .unref();
}
