import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail, isErrorType } from "../../common/errors.ts";
import { programArgs } from "../../common/programs.ts";
import type { ControlProcess } from "../../contract/control-pid.ts";
import { become } from "../become.ts";
import {
  addressOf,
  controlEnv,
  findControl,
  listensAt,
  logFileOf,
  type WantedAddress,
} from "../control-process.ts";
import { openProgress } from "../progress.ts";
import { count } from "../rendering.ts";
import { tokenFor } from "../token.ts";
import { openTransport } from "../transport.ts";
import type { World } from "../world.ts";
import { liveClusters } from "./api-stop.ts";

interface StartOptions extends WantedAddress {
  readonly foreground?: boolean;
}

const startLimitMs = 30_000;
const lookEveryMs = 50;

/** `outrigger api start`. */
export async function start(
  world: World,
  _operands: readonly string[],
  options: StartOptions,
): Promise<undefined> {
  const running = findControl(world.settings);
  if (running !== undefined) return tellRunning(world, running, options);
  const env = controlEnv(world.env, world.settings, options);
  if (options.foreground) become("control", [], env);
  await startDetached(world, env);
}

/** Where the one that runs listens; throws `ConflictError` when something else was asked for. */
function tellRunning(
  { terminal, settings }: World,
  running: ControlProcess,
  options: StartOptions,
): undefined {
  const address = addressOf(running);
  if (options.foreground || !listensAt(running, options)) {
    const where = address === undefined ? "" : ` at ${address}`;
    const what = `a control plane of ${settings.home} runs already${where}, as pid ${running.pid}`;
    fail("ConflictError", `${what}; to start another way, first: outrigger api stop`);
  }
  terminal.note(`A control plane runs already, as pid ${running.pid}.`);
  terminal.answer(address ?? settings.endpoint);
}

async function startDetached(world: World, env: Record<string, string>): Promise<void> {
  const { terminal, settings } = world;
  const logFile = logFileOf(settings);
  mkdirSync(settings.home, { recursive: true, mode: 0o700 });
  const log = openSync(logFile, "a", 0o600);
  const written = fstatSync(log).size;
  const child = spawn(process.execPath, programArgs("control"), {
    ...{ cwd: settings.home, env, detached: true, stdio: ["ignore", log, log] },
  });
  closeSync(log);
  const progress = openProgress(terminal);
  progress.step("Starting the control plane");
  try {
    const address = await untilHealthy(world, child);
    progress.end("done");
    child.unref();
    terminal.answer(address);
    terminal.note(`${terminal.paintNote("dim", "log   ")}${logFile}`);
    terminal.note(`${terminal.paintNote("dim", "stop  ")}outrigger api stop`);
    const live = await liveClusters(world, address, "start");
    if (live.length > 0)
      terminal.note(`${count(live.length, "cluster")} went on: ${live.join(", ")}`);
    if (address !== settings.endpoint)
      terminal.note(`Use it: export OUTRIGGER_ENDPOINT=${address}`);
  } catch (error) {
    progress.end("failed");
    if (child.exitCode === null) child.kill();
    throw causeIn(readFileSync(logFile).subarray(written).toString()) ?? error;
  }
}

/** Waits until control has written down where it listens and answers there; its address. */
async function untilHealthy(
  world: World,
  child: { readonly pid?: number | undefined; readonly exitCode: number | null },
): Promise<string> {
  const deadline = Date.now() + startLimitMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) {
      const file = logFileOf(world.settings);
      fail("RuntimeError", `the control plane ended with code ${child.exitCode}; see ${file}`);
    }
    const control = findControl(world.settings);
    const address = control && control.pid === child.pid ? addressOf(control) : undefined;
    if (address !== undefined && (await answers(world, address))) return address;
    await sleep(lookEveryMs, undefined, { signal: world.signal });
  }
  return fail("TimeoutError", `the control plane did not answer within ${startLimitMs / 1_000} s`);
}

async function answers({ settings }: World, address: string): Promise<boolean> {
  const transport = openTransport(address, tokenFor(settings, address));
  const question = { method: "GET", path: "/api/health", timeoutMs: 2_500 } as const;
  const answered = await transport.send(question).then(
    (answer) => answer.text(),
    () => undefined,
  );
  await transport.close();
  return answered !== undefined;
}

/** The error that control wrote to its log before it ended; undefined when there is none. */
function causeIn(log: string): AppError | undefined {
  const told = /^(\w*Error)(?: \[(\w+)\])?: (.+)$/m.exec(log);
  const [, name = "", type = name, message] = told ?? [];
  if (message === undefined) return undefined;
  return new AppError(isErrorType(type) ? type : "RuntimeError", message);
}
