import { mkdirSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { settingName } from "../../common/config.ts";
import { findEngine, howToRunContainers, whyUnreached } from "../../common/containers.ts";
import { describeSurvivors, endFoundBy, endTree } from "../../common/end-processes.ts";
import { fail } from "../../common/errors.ts";
import { ifMissing } from "../../common/files.ts";
import { listMountsOf, programsFor, unmount, whyNoMounts } from "../../common/mounts.ts";
import { findBearers } from "../../common/process-tree.ts";
import { product } from "../../common/product.ts";
import { buildOf, programArgs } from "../../common/programs.ts";
import { shellWord } from "../../common/shell-word.ts";
import { isWithin } from "../../contract/task/infra.ts";
import type { Config } from "../config.ts";
import { listNodeGroups } from "../doors/node-groups.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import { openUnixDoor } from "../doors/unix.ts";
import type { Logger } from "../log.ts";
import { markOf, startAgent } from "./local-agent.ts";
import { localNetworks } from "./local-network.ts";
import { readCluster, readState, writeCluster, writeState } from "./local-state.ts";
import { removeTraces } from "./local-traces.ts";
import { accelerators } from "./machine.ts";
import {
  type ClusterRef,
  type FoundNode,
  meets,
  type Need,
  type NodeState,
  type Offer,
  type Provider,
} from "./provider.ts";
import { removeFolder } from "./remove-folder.ts";
import { wrapErrors } from "./wrap-errors.ts";

/** The longest path that a Unix socket may have on Linux, its end mark left out. */
const longestSocketPath = 107;
const graceMs = 2_000;
/** An agent that is told to leave does so at once, unless it hangs. */
const agentGraceMs = 1_000;
const nodeIdShape = /^.+-\d+$/;
const gigabyte = 2 ** 30;
/** Where nodes are reached that share the network of this machine. */
const shared = "127.0.0.1";
/** Where a node is reached that has no network now: no name of this kind leads anywhere. Source: RFC 6761. */
const nowhere = "node.invalid";

/**
 * This machine as a cloud: a node is a folder that is its HOME, and an agent process of its own.
 * Both outlive control. A node's processes are known by their HOME.
 */
export function localProvider(config: Config, log: Logger): Provider {
  const root = join(config.home, "nodes");
  const build = buildOf("agent");
  const networks = localNetworks(config);
  /** Nodes that are being taken away: nobody sees them any more, and no other one takes their place yet. */
  const going = new Map<string, Promise<void>>();
  const homeOf = (nodeId: string) => join(root, nodeId);
  const socketOf = (nodeId: string) =>
    join(homeOf(nodeId), `.${product.word}`, "agent", "agent.sock");

  const isOff = config.local === "off";

  /**
   * Why there are no nodes here, or why they cannot have the networks of their own that are configured, mount buckets,
   * or run containers.
   */
  function refusal({
    infra,
    nodes = 1,
    network,
    mounts,
    container,
    reached,
  }: Need): string | undefined {
    if (infra !== undefined && !isWithin("local", infra)) return undefined;
    if (isOff)
      return infra === "local"
        ? `no nodes are created on the machine of control: ${settingName("local")} is off`
        : undefined;
    const unmountable = mounts && whyUnmountable(config, mounts);
    if (unmountable) return `buckets cannot be mounted on this machine: ${unmountable}`;
    const engine = container && findEngine(config.nodeEnv, config.nodeEnv["PATH"] ?? "");
    if (container && engine === undefined)
      return `this machine runs no containers: ${howToRunContainers}`;
    if (reached && engine?.isRootlessDocker) return `its ports cannot be reached: ${whyUnreached}`;
    if (network !== "own") return undefined;
    if (container) return `replicas in containers get no ports of their own; ${otherwise}`;
    const why = nodes > 1 ? `its ${nodes} nodes could not reach one another` : networks.whyNone();
    return why && `replicas on this machine get no ports of their own: ${why}; ${otherwise}`;
  }

  async function offers(need: Need): Promise<Offer[]> {
    if (isOff || refusal(need) !== undefined) return [];
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
      ...(need.network === "own" && { network: "own" }),
    };
    return meets(offer, need) ? [offer] : [];
  }

  async function create(cluster: ClusterRef, rank: number): Promise<void> {
    const nodeId = nodeIdOf(cluster, rank);
    await going.get(nodeId);
    if (socketOf(nodeId).length > longestSocketPath)
      fail("CloudError", `${config.home} is too long a path for sockets; use a shorter home`);
    const home = homeOf(nodeId);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeProfile(config, home);
    const isApart = cluster.offer.network === "own";
    if (isApart) await networks.open(nodeId);
    writeCluster(home, cluster);
    writeState(home, "running");
    const program = [process.execPath, ...programArgs("agent")];
    const command = isApart ? networks.within(nodeId, program) : program;
    startAgent(config, { command, home, socket: socketOf(nodeId), build }, (error) =>
      log.warn({ err: error, nodeId }, "agent not started"),
    );
    log.debug({ nodeId }, "node created");
  }

  const listHomes = (): Promise<string[]> => readdir(root).catch(ifMissing([]));

  async function find(): Promise<FoundNode[]> {
    return (await listHomes())
      .filter((name) => nodeIdShape.test(name))
      .map((id) => ({ id, state: readState(homeOf(id)), cluster: readCluster(homeOf(id)) }));
  }

  async function list(cluster: ClusterRef): Promise<NodeState[]> {
    return (await listHomes())
      .filter((name) => name.startsWith(`${cluster.id}-`) && !going.has(name))
      .map((id) => ({ id, rank: Number(id.slice(cluster.id.length + 1)) }))
      .map((node) => ({ ...node, ...placeOf(cluster, node.id) }))
      .sort((a, b) => a.rank - b.rank);
  }

  /** A node whose network is not whole counts as stopped: creating it again completes it. */
  function placeOf({ offer }: ClusterRef, nodeId: string): Pick<NodeState, "state" | "address"> {
    const address = offer.network === "own" ? networks.addressOf(nodeId) : shared;
    if (address === undefined) return { state: "stopped", address: nowhere };
    return { state: readState(homeOf(nodeId)), address };
  }

  /** Processes of other users hold nothing up: we can neither end them nor find them again. */
  async function endProcesses(
    nodeId: string,
    signal: AbortSignal,
    withinMs = graceMs,
  ): Promise<void> {
    const left = await endTree(processesOf(homeOf(nodeId)), withinMs, signal);
    if (left.length === 0) return;
    log.warn({ nodeId, left }, "processes of a node remain");
    const ours = left.filter(({ isForeign }) => !isForeign);
    if (ours.length > 0)
      fail("CloudError", `node ${nodeId}: ${describeSurvivors(ours)}; it is tried again`);
  }

  /** To delete what is mounted would empty a bucket. */
  async function unmountAll(nodeId: string): Promise<void> {
    for (const { path } of listMountsOf(homeOf(nodeId)))
      if (!(await unmount(path)))
        fail("CloudError", `${path} of node ${nodeId} cannot be unmounted; it is tried again`);
  }

  async function stop(nodeId: string, signal: AbortSignal): Promise<void> {
    await endProcesses(nodeId, signal);
    await networks.close(nodeId);
    await unmountAll(nodeId);
    writeState(homeOf(nodeId), "stopped");
  }

  async function endAgent(nodeId: string, signal: AbortSignal): Promise<void> {
    const left = await endFoundBy(
      () => findBearers(markOf(socketOf(nodeId))),
      agentGraceMs,
      signal,
    );
    if (left.length > 0)
      fail("CloudError", `the agent of node ${nodeId} cannot be ended: ${describeSurvivors(left)}`);
  }

  async function destroy(nodeId: string, signal: AbortSignal, withinMs = graceMs): Promise<void> {
    await endProcesses(nodeId, signal, withinMs);
    await networks.close(nodeId);
    const others = (await listHomes()).filter((one) => one !== nodeId && nodeIdShape.test(one));
    await removeTraces(homeOf(nodeId), others.map(homeOf));
    await unmountAll(nodeId);
    await removeFolder(homeOf(nodeId));
  }

  async function takeAway(nodeId: string, signal: AbortSignal): Promise<void> {
    const gone = destroy(nodeId, signal, 0);
    going.set(
      nodeId,
      gone.catch(() => {}),
    );
    await gone.finally(() => going.delete(nodeId));
  }

  return {
    name: "local",
    offers,
    refusal,
    places: async () => (isOff ? [] : ["local"]),
    find,
    ...wrapErrors("this machine", {
      ...{ create, list, stop, takeAway, endAgent },
      destroy: (nodeId: string, signal: AbortSignal) => destroy(nodeId, signal),
    }),
    agentBuild: build,
    door: (nodeId) => openUnixDoor(socketOf(nodeId)),
    endpoint: async (node, port) => `${node.address}:${port}`,
  };
}

const otherwise =
  "or have the server listen on $PORT, which differs between replicas (without `isolation: netns`), use one replica, or use an SSH pool";

function whyUnmountable(
  { nodeEnv: { PATH = "" }, s3Endpoint: endpoint }: Config,
  mounts: Need["mounts"],
) {
  if (mounts === true) return whyNoMounts(PATH);
  const cache = mounts === "rclone" ? {} : null;
  return whyNoMounts(PATH, programsFor({ endpoint, readOnly: false, cache }));
}

/** Jobs run in login shells: without a profile of its own a node would lose the PATH it was given. */
function writeProfile({ nodeEnv: { PATH = "" } }: Config, home: string): void {
  writeFileSync(join(home, ".profile"), `export PATH=${shellWord(PATH)}\n`);
}

/** What has the node's folder as its HOME, and what is in the control groups of its jobs and hooks. */
const processesOf = (home: string) => ({
  roots: [],
  mark: `HOME=${home}`,
  groups: listNodeGroups(home),
});
