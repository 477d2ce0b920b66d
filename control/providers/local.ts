import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { availableParallelism, totalmem, userInfo } from "node:os";
import { join } from "node:path";
import { settingName } from "../../common/config.ts";
import { describeSurvivors, endBearers, endTree } from "../../common/end-processes.ts";
import { AppError, errorCodeOf, fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { buildOf, programArgs } from "../../common/programs.ts";
import type { Config } from "../config.ts";
import { openUnixDoor } from "../doors/unix.ts";
import type { Logger } from "../log.ts";
import { accelerators } from "./machine.ts";
import { type ClusterRef, meets, type NodeState, type Offer, type Provider } from "./provider.ts";
import { removeFolder } from "./remove-folder.ts";

/** The longest path that a Unix socket may have on Linux, its end mark left out. */
const longestSocketPath = 107;
const graceMs = 2_000;
/** An agent that is told to leave does so at once, unless it hangs. */
const agentGraceMs = 1_000;
const gigabyte = 2 ** 30;

/**
 * This machine as a cloud: a node is a folder that is its HOME, and an agent process of its own.
 * Both outlive control. A node's processes are known by their HOME.
 */
export function localProvider(config: Config, log: Logger): Provider {
  const root = join(config.home, "nodes");
  const build = buildOf("agent");
  const homeOf = (nodeId: string) => join(root, nodeId);
  const socketOf = (nodeId: string) =>
    join(homeOf(nodeId), `.${product.word}`, "agent", "agent.sock");

  async function offers(need: Parameters<Provider["offers"]>[0]): Promise<Offer[]> {
    const offer: Offer = {
      provider: "local",
      infra: "local",
      region: null,
      zone: null,
      instanceType: "local",
      cpus: availableParallelism(),
      memoryGb: Math.round(totalmem() / gigabyte),
      accelerators: await accelerators(config.localAccelerators),
      dollarsPerHour: 0,
    };
    return meets(offer, need) ? [offer] : [];
  }

  async function create(cluster: ClusterRef, rank: number): Promise<void> {
    const nodeId = `${cluster.id}-${rank}`;
    if (socketOf(nodeId).length > longestSocketPath)
      fail("CloudError", `${config.home} is too long a path for sockets; use a shorter home`);
    const home = homeOf(nodeId);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeProfile(config, home);
    writeState(home, "running");
    startAgent(config, { home, socket: socketOf(nodeId), build }, (error) =>
      log.warn({ err: error, nodeId }, "agent not started"),
    );
    log.debug({ nodeId }, "node created");
  }

  async function list(cluster: ClusterRef): Promise<NodeState[]> {
    const names = await readdir(root).catch((error: unknown) => {
      if (errorCodeOf(error) === "ENOENT") return [];
      throw error;
    });
    return names
      .filter((name) => name.startsWith(`${cluster.id}-`))
      .map((id) => ({ id, rank: Number(id.slice(cluster.id.length + 1)) }))
      .map((node) => ({ ...node, state: readState(homeOf(node.id)), address: "127.0.0.1" }))
      .sort((a, b) => a.rank - b.rank);
  }

  /** Processes of other users hold nothing up: we can neither end them nor find them again. */
  async function endProcesses(nodeId: string, signal: AbortSignal): Promise<void> {
    const left = await endTree(processesOf(homeOf(nodeId)), graceMs, signal);
    if (left.length === 0) return;
    log.warn({ nodeId, left }, "processes of a node were left");
    const ours = left.filter(({ isForeign }) => !isForeign);
    if (ours.length > 0)
      fail("CloudError", `node ${nodeId}: ${describeSurvivors(ours)}; it is tried again`);
  }

  async function stop(nodeId: string, signal: AbortSignal): Promise<void> {
    await endProcesses(nodeId, signal);
    writeState(homeOf(nodeId), "stopped");
  }

  async function endAgent(nodeId: string, signal: AbortSignal): Promise<void> {
    const left = await endBearers(markOf(socketOf(nodeId)), agentGraceMs, signal);
    if (left.length > 0)
      fail("CloudError", `the agent of node ${nodeId} cannot be ended: ${describeSurvivors(left)}`);
  }

  async function destroy(nodeId: string, signal: AbortSignal): Promise<void> {
    await endProcesses(nodeId, signal);
    await removeFolder(homeOf(nodeId));
  }

  return {
    name: "local",
    offers,
    create: honest(create),
    list: honest(list),
    destroy: honest(destroy),
    stop: honest(stop),
    agentBuild: build,
    endAgent: honest(endAgent),
    door: (nodeId) => openUnixDoor(socketOf(nodeId)),
    endpoint: (node, port) => `${node.address}:${port}`,
  };
}

/** The same duty, but every error is one that we meant. */
const honest =
  <Given extends unknown[], Result>(duty: (...given: Given) => Promise<Result>) =>
  (...given: Given): Promise<Result> =>
    duty(...given).catch((error: unknown) => {
      if (error instanceof AppError || isAbort(error)) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new AppError("CloudError", `this machine cannot do that now: ${why}`, {}, error);
    });

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === "AbortError";

/** Jobs run in login shells: without a profile of its own a node would lose the PATH it was given. */
function writeProfile({ nodeEnv: { PATH = "" } }: Config, home: string): void {
  writeFileSync(join(home, ".profile"), `export PATH=${quoted(PATH)}\n`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

const stateFile = "node.json";

function writeState(home: string, state: NodeState["state"]): void {
  const file = join(home, stateFile);
  writeFileSync(`${file}.new`, JSON.stringify({ state }), { flush: true });
  renameSync(`${file}.new`, file);
}

/** A folder whose creation was cut off counts as stopped: creating it again completes it. */
function readState(home: string): NodeState["state"] {
  try {
    return JSON.parse(readFileSync(join(home, stateFile), "utf8")).state;
  } catch (error) {
    if (errorCodeOf(error) === "ENOENT") return "stopped";
    throw error;
  }
}

/** Whatever has the node's folder as its HOME: its agent and what the agent started. */
const processesOf = (home: string) => ({ roots: [], mark: `HOME=${home}` });

const socketVariable = settingName("socket");

/** What the agent alone has in its environment: it does not hand on where it listens. */
const markOf = (socket: string): string => `${socketVariable}=${socket}`;

/** Starts a node's agent; one that finds another alive leaves at once. */
function startAgent(
  config: Config,
  { home, socket, build }: { home: string; socket: string; build: string },
  failed: (error: Error) => void,
): void {
  const folder = join(home, `.${product.word}`, "agent");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const log = openSync(join(folder, "agent.log"), "a", 0o600);
  const { username, shell } = userInfo();
  const child = spawn(process.execPath, programArgs("agent"), {
    cwd: home,
    detached: true,
    stdio: ["ignore", log, log],
    env: {
      ...config.nodeEnv,
      HOME: home,
      USER: username,
      LOGNAME: username,
      SHELL: shell ?? "/bin/bash",
      NODE_COMPILE_CACHE: getCompileCacheDir(),
      [socketVariable]: socket,
      [settingName("build")]: build,
    },
  });
  // Nobody waits for it: whether the agent runs is seen when it is asked.
  child.once("error", failed);
  child.unref();
  closeSync(log);
}
