import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, unlinkSync, writeSync } from "node:fs";
import {
  type FileHandle,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { endTree } from "../../common/end-processes.ts";
import { fail, messageOf } from "../../common/errors.ts";
import { orNothing } from "../../common/files.ts";
import {
  findMountProgram,
  listMounts,
  mountDeviceOf,
  programsFor,
  unmount,
  whyNoMounts,
} from "../../common/mounts.ts";
import { findProcess, isAlive, type ProcessId } from "../../common/process-tree.ts";
import type { MountOrder } from "../../contract/mounts-api.ts";
import { type Agent, keys } from "../context.ts";
import { mountMarkOf } from "../environment.ts";
import { type Command, commands } from "./programs.ts";
import type { MountRow } from "./store.ts";

const startMs = 30_000;
const listMs = 60_000;
const graceMs = 5_000;
const pollMs = 50;
/** Of the mode of a folder. */
const readOnly = 0o555;
const ownerWrites = 0o200;

/** Where a mount has its cache and its log. */
export const folderOf = ({ config }: Pick<Agent, "config">, root: string): string => {
  const name = createHash("sha256").update(root).digest("hex").slice(0, 16);
  return join(config.agentFolder, "mounts", name);
};

/** Where the program of a mount keeps files. */
export const cacheOf = (agent: Pick<Agent, "config">, root: string): string =>
  join(folderOf(agent, root), "cache");

/** Whether a mount is there and served. */
export const isServed = ({ root, server }: MountRow): boolean =>
  server !== null && isAlive(server) && listMounts().some(({ path }) => path === root);

/**
 * Mounts a bucket; what serves it from now on. Throws `NotSupportedError` where the node cannot mount, `ConflictError`
 * where something lies already, `StorageError` where the bucket cannot be read.
 */
export async function mount(
  agent: Agent,
  { order, root }: Pick<MountRow, "order" | "root">,
): Promise<Pick<MountRow, "program" | "server">> {
  const { HOME: home = "", PATH: path = "" } = agent.config.baseEnv;
  const { name, file } = programFor(order, path);
  await endMount(agent, { root, server: null });
  if (listMounts().some((one) => one.path === root))
    fail("ConflictError", `${root} is mounted already, by another node or user; use another path`);
  await mkdir(root, { recursive: true });
  if ((await lstat(root)).isSymbolicLink())
    fail("ConflictError", `${root} is a link here; use the path that it leads to`);
  if ((await readdir(root)).length > 0)
    fail("ConflictError", `${root} is a folder here that has files of its own; use another path`);
  const cache = cacheOf(agent, root);
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const folder = folderOf(agent, root);
  await using point = await open(root);
  const { mode } = await point.stat();
  // Programs that mount refuse a folder without it.
  await setMode(point, mode | ownerWrites);
  await writeFile(noteOf(agent, root), root, { mode: 0o600 });
  const server = serve(agent, file, commands[name](order, { root, cache, home }), folder);
  try {
    await untilServed(root, server, agent.stopping);
    const isListed = await Promise.race([readdir(root).then(() => true), sleep(listMs, false)]);
    if (!isListed) fail("StorageError", `it did not answer within ${listMs / 1_000} s`);
    // It is the folder below the mount: nothing is written to it while the bucket is not there.
    await setMode(point, mode & readOnly);
  } catch (error) {
    await endMount(agent, { root, server });
    await setMode(point, mode);
    agent.stopping.throwIfAborted();
    const why =
      lastLineIn(await readFile(join(folder, "log"), "utf8").catch(() => "")) ?? messageOf(error);
    return fail("StorageError", `${order.name} cannot be mounted with ${name}: ${why}`);
  }
  return { program: await versionOf(name, file), server };
}

/** Takes a mount of this node away with what serves it, and none of another node; false where it stays. */
export async function endMount(
  agent: Pick<Agent, "config">,
  { root, server }: Pick<MountRow, "root" | "server">,
): Promise<boolean> {
  const mark = mountMarkOf(folderOf(agent, root)).join("=");
  await endTree({ roots: server === null ? [] : [server], mark }, graceMs);
  const ours = mountDeviceOf(agent.config.baseEnv["HOME"] ?? "");
  const devices = existsSync(noteOf(agent, root)) ? [ours, "mountpoint-s3"] : [ours];
  const isOurs = listMounts().some((one) => one.path === root && devices.includes(one.device));
  if (isOurs && !(await unmount(root))) return false;
  await rm(noteOf(agent, root), { force: true });
  return true;
}

/** Takes a mount away for good: its folder is one like any other. */
export async function dissolveMount(agent: Agent, row: MountRow): Promise<boolean> {
  if (!(await endMount(agent, row))) return false;
  const folder = await orNothing(open(row.root));
  if (folder === undefined) return true;
  await using point = folder;
  await setMode(point, (await point.stat()).mode | ownerWrites);
  return true;
}

/** A folder that is another user's keeps its mode. */
const setMode = (folder: FileHandle, mode: number): Promise<void> =>
  folder.chmod(mode & 0o7777).catch(() => {});

/** Moves away what was written to the folder of a mount that was not there; where that is now, if there was any. */
export async function setAside(root: string): Promise<string | undefined> {
  const isFolder = (await orNothing(lstat(root)))?.isDirectory() ?? false;
  if (!isFolder || listMounts().some(({ path }) => path === root)) return undefined;
  if ((await readdir(root)).length === 0) return undefined;
  const aside = await mkdtemp(`${root}.not-in-bucket-`);
  await rename(root, aside);
  return aside;
}

/** Says that this node mounts here, as not every program's mount does; read when an SSH host is cleaned, too. */
const noteOf = (agent: Pick<Agent, "config">, root: string): string =>
  join(folderOf(agent, root), "root");

function programFor(order: MountOrder, path: string) {
  const programs = programsFor(order);
  const why = whyNoMounts(path, programs);
  const found = findMountProgram(path, programs);
  if (why === undefined && found !== undefined) return found;
  return fail("NotSupportedError", `this node cannot mount ${order.name}: ${why}`);
}

/** The program outlives the agent, as jobs do: they use it. */
function serve(
  { config: { baseEnv }, changes }: Agent,
  file: string,
  { args, env, config = "" }: Command,
  folder: string,
): ProcessId {
  const output = openSync(join(folder, "log"), "w", 0o600);
  const input = openUnnamed(join(folder, "config"), config);
  const child = spawn(file, args, {
    cwd: "/",
    env: { ...baseEnv, ...env, ...Object.fromEntries([mountMarkOf(folder)]) },
    detached: true,
    stdio: ["ignore", output, output, input],
  });
  for (const descriptor of [output, input]) closeSync(descriptor);
  child.on("error", () => {}).on("exit", () => changes.notify(keys.mounts));
  child.unref();
  const pid = child.pid ?? fail("StorageError", `${file} cannot be started`);
  return { pid, startTicks: findProcess(pid)?.startTicks ?? 0 };
}

/** A file that is gone from its folder before anything is in it. */
function openUnnamed(path: string, text: string): number {
  const file = openSync(path, "w+", 0o600);
  unlinkSync(path);
  writeSync(file, text);
  return file;
}

async function untilServed(root: string, server: ProcessId, signal: AbortSignal): Promise<void> {
  const until = performance.now() + startMs;
  while (!listMounts().some(({ path }) => path === root)) {
    if (!isAlive(server)) fail("StorageError", "it ended");
    if (performance.now() > until) fail("StorageError", `it took more than ${startMs / 1_000} s`);
    await sleep(pollMs, undefined, { signal });
  }
}

const lineAtMost = 300;

/** What a program last said in its log, without the time; of errors that mount-s3 traces back, the last cause. */
export function lastLineIn(log: string): string | undefined {
  const lines = log.split("\n").filter(Boolean);
  const isTraced = lines.includes("Caused by:");
  const said = isTraced ? undefined : lines.findLast((one) => /ERROR|Fatal|Failed/i.test(one));
  const line = said ?? lines.at(-1);
  return line?.replace(/^[\d/]+ [\d:]+ |^ +(?:\d+: )?/, "").slice(0, lineAtMost);
}

/** `rclone v1.60.1`. */
async function versionOf(name: string, file: string): Promise<string> {
  const option = name === "rclone" ? "version" : "--version";
  const { stdout } = await promisify(execFile)(file, [option]).catch(() => ({ stdout: name }));
  return stdout.split("\n")[0]?.trim() || name;
}
