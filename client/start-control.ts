import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, errorCodeOf, fail, isErrorType } from "../common/errors.ts";
import { programArgs } from "../common/programs.ts";
import { addressOf, findControl, logFileOf } from "./control-process.ts";
import { openProgress } from "./progress.ts";
import { tokenFor } from "./token.ts";
import { openTransport } from "./transport.ts";
import type { World } from "./world.ts";

const startLimitMs = 30_000;
const lookEveryMs = 50;

type Child = { readonly pid?: number | undefined; readonly exitCode: number | null };

/**
 * Starts a control plane of our home in the background, and waits until it answers; its address. Throws the error
 * that kept it from starting, and `TimeoutError`.
 */
export async function startControl(world: World, env: Record<string, string>): Promise<string> {
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
    return address;
  } catch (error) {
    progress.end("failed");
    if (child.exitCode === null) child.kill();
    throw causeIn(readFileSync(logFile).subarray(written).toString()) ?? error;
  }
}

/** Waits until the control plane of our home answers, that of `child` if one is named; its address. */
export async function untilHealthy(world: World, child?: Child): Promise<string> {
  const deadline = Date.now() + startLimitMs;
  while (Date.now() < deadline) {
    if (child && child.exitCode !== null) {
      const file = logFileOf(world.settings);
      fail("RuntimeError", `the control plane ended with code ${child.exitCode}; see ${file}`);
    }
    const control = findControl(world.settings);
    const isMeant = child === undefined || control?.pid === child.pid;
    const address = control && isMeant ? addressOf(control) : undefined;
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
    ({ cause }) => (isUntrusted(cause) ? "" : undefined),
  );
  await transport.close();
  return answered !== undefined;
}

/** Whether something answers by TLS, with a certificate that is trusted nowhere here. */
const isUntrusted = (cause: unknown): boolean =>
  /CERT|SELF_SIGNED|LEAF_SIGNATURE/.test(errorCodeOf(cause) ?? "");

/** The error that control wrote to its log before it ended; undefined when there is none. */
export function causeIn(log: string): AppError | undefined {
  const told = /^(\w*Error)(?: \[(\w+)\])?: (.+)$/m.exec(log);
  const [, name = "", type = name, message] = told ?? [];
  if (message === undefined) return undefined;
  return new AppError(isErrorType(type) ? type : "RuntimeError", message);
}
