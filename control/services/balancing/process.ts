import { mkdirSync } from "node:fs";
import { readdir, rename, rm } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { settingName } from "../../../common/config.ts";
import { endFoundBy } from "../../../common/end-processes.ts";
import { AppError, ifPossible, messageOf } from "../../../common/errors.ts";
import { limited } from "../../../common/limited.ts";
import { findBearers, findProcess, isAlive, type ProcessId } from "../../../common/process-tree.ts";
import { buildOf, programArgs } from "../../../common/programs.ts";
import { type Detached, startDetached } from "../../../common/start-detached.ts";
import { balancerOperations as api, leftSocketOf } from "../../../contract/balancer-api.ts";
import { agentBehind } from "../../doors/agent.ts";
import { openUnixDoor } from "../../doors/unix.ts";
import type { Ground } from "../../ground.ts";
import { balancerLogOf, serviceFolder } from "../folders.ts";
import { placeOf, type Service } from "../schema.ts";
import { type Reached, reach } from "./reach.ts";

/** A balancer that was told to end. */
export interface Leaving {
  /** Where it was to be reached. */
  readonly socket: string;
  /** What it is; undefined where it was gone already. */
  readonly process: ProcessId | undefined;
}

/** The processes of balancers on this machine: how they are found, started and ended. */
export interface Processes {
  readonly reach: typeof reach;
  readonly find: typeof findBalancer;
  readonly findOurs: typeof findOurs;
  readonly start: typeof start;
  readonly end: typeof endBalancers;
  readonly untilGone: typeof untilGone;
  readonly killSilent: typeof killSilent;
}

/** How long the balancer before is waited for; one that hangs passes no sockets on. */
const replaceMs = 3_000;
const startTimeoutMs = 20_000;
const lookEveryMs = 20;

/** Reaches the balancer of a service where one of our build runs; starts none. */
async function findOurs(
  ctx: Ground,
  service: Service,
  signal: AbortSignal,
): Promise<Reached | undefined> {
  return reach(service, ourSocketIn(serviceFolder(ctx, service.id)), signal);
}

const ourSocketIn = (folder: string): string => join(folder, `${buildOf("balancer")}.sock`);

/** Reaches the balancer of a service where one runs, of whatever build; starts none. */
async function findBalancer(
  ctx: Ground,
  service: Service,
  signal: AbortSignal,
): Promise<Reached | undefined> {
  for (const path of await socketsIn(serviceFolder(ctx, service.id))) {
    const reached = await reach(service, path, signal);
    if (reached !== undefined) return reached;
  }
}

/**
 * Has the balancers of a service finish what is open for so long and end, all but the one behind a
 * socket. Answers who is still ending, also since before; what is left of one that is gone is removed.
 */
async function endBalancers(
  ctx: Ground,
  service: Service,
  { drainMs, except }: { drainMs: number; except?: string },
  signal: AbortSignal,
): Promise<Leaving[]> {
  const folder = serviceFolder(ctx, service.id);
  const gone: Leaving[] = [];
  for (const socket of await socketsIn(folder)) {
    const isThere = socket === except || (await endBehind(service, socket, drainMs, signal));
    if (!isThere) gone.push({ socket, process: undefined });
  }
  return [...gone, ...(await leavingIn(folder))];
}

/**
 * Tells a balancer to end; false where it is gone. Its socket gets a name that says which process it
 * belongs to, for the control plane that comes after this one. A balancer that misses its socket ends by
 * itself, so it ends also where it cannot be told, or where control dies before it is.
 */
async function endBehind(
  service: Service,
  socket: string,
  drainMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const other = await reach(service, socket, signal);
  await other?.close();
  const found = other && findProcess(other.health.pid);
  if (found === undefined) {
    await rm(socket, { force: true });
    return false;
  }
  const left = leftSocketOf(socket, found);
  await rename(socket, left);
  const door = openUnixDoor(left);
  const behind = agentBehind(door, `the balancer of ${service.name}`);
  try {
    await behind.call(api.end, { drainMs }, { signal });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError) || error.type !== "UnreachableError") throw error;
  } finally {
    await door.destroy();
  }
  return true;
}

const leftNames = /^(?<build>.+)\.(?<pid>\d+)-(?<startTicks>\d+)\.left$/;

/** Those of a folder that were told to end and have not yet. */
async function leavingIn(folder: string): Promise<Leaving[]> {
  const leaving: Leaving[] = [];
  for (const name of await namesIn(folder)) {
    const { build, pid, startTicks } = leftNames.exec(name)?.groups ?? {};
    const process = { pid: Number(pid), startTicks: Number(startTicks) };
    if (build === undefined) continue;
    if (isAlive(process)) leaving.push({ socket: join(folder, `${build}.sock`), process });
    else await rm(join(folder, name), { force: true });
  }
  return leaving;
}

/** Resolves once these have ended; who has not after `graceMs` is killed. */
async function untilGone(
  leaving: readonly Leaving[],
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const { socket } of leaving) {
    const mark = `${settingName("socket")}=${socket}`;
    await endFoundBy(() => findBearers(mark), graceMs, signal);
  }
}

/** Kills those balancers of a service that do not answer; another may take the place of each. */
async function killSilent(ctx: Ground, service: Service, signal: AbortSignal): Promise<void> {
  for (const socket of await socketsIn(serviceFolder(ctx, service.id)))
    await reach(service, socket, signal).then(
      (reached) => reached?.close(),
      () => untilGone([{ socket, process: undefined }], 0, signal),
    );
}

async function socketsIn(folder: string): Promise<string[]> {
  const names = await namesIn(folder);
  return names.filter((name) => name.endsWith(".sock")).map((name) => join(folder, name));
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/**
 * Starts a balancer of our build where none runs; one of another build has it inherit its sockets. Throws
 * `RuntimeError` when it does not start, `UnreachableError` when it is too busy to answer.
 */
async function start(ctx: Ground, service: Service, signal: AbortSignal): Promise<Reached> {
  const folder = serviceFolder(ctx, service.id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const socket = ourSocketIn(folder);
  const log = balancerLogOf(ctx, service.id);
  const env = {
    ...ctx.config.nodeEnv,
    NODE_COMPILE_CACHE: getCompileCacheDir(),
    [settingName("socket")]: socket,
    [settingName("listen")]: placeOf(service),
    [settingName("build")]: buildOf("balancer"),
    [settingName("logFile")]: log,
  };
  const command = [process.execPath, ...programArgs("balancer")];
  const begun = await begin(ctx, service, { command, cwd: folder, env, log }, signal);
  try {
    return await untilReached(service, socket, begun, signal);
  } catch (error) {
    const { found } = begun;
    // Unfinished, it would be found by nobody.
    if (found !== undefined && isAlive(found)) ifPossible(() => process.kill(found.pid, "SIGKILL"));
    if (signal.aborted) throw error;
    const why = messageOf(error);
    const message = `the balancer of ${service.name} does not start: ${why}; its log: ${log}`;
    throw new AppError("RuntimeError", message, {}, error);
  }
}

/** A process that was started, undefined if it has ended already, and how it ends, as far as that is seen. */
interface Begun {
  readonly found: ProcessId | undefined;
  readonly ended: Promise<string>;
}

/** Starts the process, through the balancer that it replaces where there is one that answers. */
async function begin(
  ctx: Ground,
  service: Service,
  program: Detached,
  signal: AbortSignal,
): Promise<Begun> {
  const pid = await limited(replaceMs, signal, (limit) =>
    startByOther(ctx, service, program, limit),
  ).catch((error: unknown) => {
    signal.throwIfAborted();
    // It may hang, or be a build without this operation: then a connection can be lost when it ends.
    ctx.log.warn({ err: error, service: service.name }, "balancer passes no sockets on");
    return undefined;
  });
  if (pid !== undefined) return { found: findProcess(pid), ended: Promise.resolve("it ended") };
  const child = startDetached(program);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  child.on("error", ({ message }) => resolve(message));
  child.on("exit", (code, name) => resolve(`it ended with ${code ?? name}`));
  return { found: child.pid === undefined ? undefined : findProcess(child.pid), ended };
}

/** Has the balancer that is there start the next one, which inherits its sockets; the pid of that. */
async function startByOther(
  ctx: Ground,
  service: Service,
  program: Detached,
  signal: AbortSignal,
): Promise<number | undefined> {
  const before = await findBalancer(ctx, service, signal);
  try {
    return (await before?.api.call(api.replace, program, { signal }))?.pid;
  } finally {
    await before?.close();
  }
}

async function untilReached(
  service: Service,
  socket: string,
  { found, ended }: Begun,
  signal: AbortSignal,
): Promise<Reached> {
  const until = performance.now() + startTimeoutMs;
  while (performance.now() < until) {
    if (found === undefined || !isAlive(found)) throw new Error(await ended);
    const reached = await reach(service, socket, signal);
    if (reached !== undefined) return reached;
    await sleep(lookEveryMs, undefined, { signal });
  }
  throw new Error("it does not answer");
}

/** Those of this build. */
export const processes: Processes = {
  ...{ reach, find: findBalancer, findOurs, start, end: endBalancers },
  ...{ untilGone, killSilent },
};
