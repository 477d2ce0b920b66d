import type { Duplex } from "node:stream";
import { fail } from "../../common/errors.ts";
import { buildOf } from "../../common/programs.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import {
  endAgentOn,
  hasStopped,
  type ReachedHost,
  removeNodeOn,
  socketOf,
  startAgentOn,
  stopNodeOn,
} from "../doors/ssh/agent-service.ts";
import type { Bundles } from "../doors/ssh/bundles.ts";
import type { SshConnections } from "../doors/ssh/connections.ts";
import { openChannelDoor } from "../doors/ssh/door.ts";
import { type Forwards, isReachable } from "../doors/ssh/forwards.ts";
import { installAgent } from "../doors/ssh/install.ts";
import type { Logger } from "../log.ts";
import type { Host, HostBook, HostNode } from "../ssh-pools/schema.ts";
import { honest } from "./honest.ts";
import type { ClusterRef, Need, NodeState, Offer, Provider } from "./provider.ts";
import { chooseHosts, couldFit, offersOf } from "./ssh-hosts.ts";

/** How hosts are reached, and what they get. */
export interface Ways {
  readonly connections: SshConnections;
  readonly bundles: Bundles;
  readonly forwards: Forwards;
}

/** Attempts to find a host whose agent can be started, for a node that never had one. */
const attempts = 3;

/**
 * Machines that are there already, as a cloud: a node is a host that one cluster has for itself, and
 * the agent in its user's home. Stopping a node ends what runs on it; the machine stays on.
 */
export function sshProvider(book: HostBook, ways: Ways, log: Logger): Provider {
  const { connections: ssh, bundles, forwards } = ways;
  const build = buildOf("agent");

  async function reach({ host }: { host: Host }): Promise<ReachedHost> {
    const { facts, pool, name } = host;
    if (facts === null) fail("CloudError", `host ${name} of pool ${pool} was never looked at`);
    return { ssh, facts, target: await book.targetOf(host) };
  }

  async function find(nodeId: string) {
    const found = await book.find(nodeId);
    return found && { ...found, reached: await reach(found) };
  }

  const offers = async (need: Need): Promise<Offer[]> => offersOf(await book.listFree(), need);

  const get = async (nodeId: string) =>
    (await find(nodeId)) ?? fail("CloudError", `node ${nodeId} has no host`);

  async function start(nodeId: string, signal: AbortSignal): Promise<void> {
    const { node, reached } = await get(nodeId);
    const installed = await installAgent(ssh, reached, bundles, signal);
    await startAgentOn(reached, installed, build, signal);
    if (node.state !== "running") await book.setState(node, "running");
  }

  async function create(cluster: ClusterRef, rank: number, signal: AbortSignal): Promise<void> {
    const nodeId = nodeIdOf(cluster, rank);
    for (let attempt = 1; ; attempt += 1) {
      await book.claim(cluster, (free, count) => chooseHosts(free, cluster.offer, count));
      try {
        return await start(nodeId, signal);
      } catch (error) {
        const node = (await book.find(nodeId))?.node;
        if (signal.aborted || node?.state !== "claimed") throw error;
        await giveUp(node, error);
        if (attempt === attempts) throw error;
      }
    }
  }

  /** Nothing of the cluster is on the host yet: another one can take its place. */
  async function giveUp(node: HostNode, error: unknown): Promise<void> {
    const why = error instanceof Error ? error.message : String(error);
    log.warn({ ...node.host, cluster: node.clusterName, why }, "host given up");
    await book.setProblem(node.host, why);
    await book.release(node, true);
  }

  async function list(cluster: ClusterRef, signal: AbortSignal): Promise<NodeState[]> {
    const nodes = await book.nodesOf(cluster.id);
    return Promise.all(nodes.map((node) => stateOf(nodeIdOf(cluster, node.rank), node, signal)));
  }

  async function stateOf(id: string, node: HostNode, signal: AbortSignal): Promise<NodeState> {
    const found = await find(id).catch(() => undefined);
    const { facts, target } = found?.reached ?? {};
    const address = facts?.address ?? target?.address ?? node.host.name;
    const isOn = node.state === "running" && !(found && (await isOff(found, signal)));
    return { id, rank: node.rank, state: isOn ? "running" : "stopped", address };
  }

  /** A host that does not answer is not off. */
  async function isOff(
    { node, reached }: { node: HostNode; reached: ReachedHost },
    signal: AbortSignal,
  ): Promise<boolean> {
    const stopped = await hasStopped(reached, signal).catch(() => false);
    signal.throwIfAborted();
    if (stopped) await book.setState(node, "stopped");
    return stopped;
  }

  async function stop(nodeId: string, signal: AbortSignal): Promise<void> {
    const found = await find(nodeId);
    if (found === undefined) return;
    forwards.close(nodeId);
    await stopNodeOn(found.reached, signal);
    await book.setState(found.node, "stopped");
  }

  /** A host that cannot be cleaned now is not given to anybody until it was. */
  async function destroy(nodeId: string, signal: AbortSignal): Promise<void> {
    const found = await book.find(nodeId);
    if (found === undefined) return;
    forwards.close(nodeId);
    let isDirty = false;
    try {
      await removeNodeOn(await reach(found), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      isDirty = true;
      const why = error instanceof Error ? error.message : String(error);
      log.warn({ nodeId, ...found.node.host, why }, "host not cleaned");
      await book.setProblem(found.node.host, why);
    }
    await book.release(found.node, isDirty);
  }

  /** A machine behind another one may have the address of somebody else here. */
  async function endpoint(node: NodeState, port: number): Promise<string> {
    const { id, address } = node;
    const isBehind = (await find(id))?.reached.target.jump != null;
    if (!isBehind && (await isReachable(address, port))) return `${address}:${port}`;
    return forwards.open(id, port, () => dial(node, "127.0.0.1", port));
  }

  async function dial({ id }: NodeState, host: string, port: number): Promise<Duplex> {
    const { target } = (await get(id)).reached;
    return ssh.channel(target, (client, done) =>
      client.forwardOut("127.0.0.1", 0, host, port, done as never),
    );
  }

  async function endAgent(nodeId: string, signal: AbortSignal): Promise<void> {
    const found = await find(nodeId);
    if (found !== undefined) await endAgentOn(found.reached, signal);
  }

  return {
    name: "ssh",
    shortages: book.listShortages,
    couldOffer: async (need) => couldFit(await book.listHosts(), need),
    async places() {
      const pools = (await book.listPools()).map((pool) => `ssh/${pool}`);
      return pools.length === 0 ? [] : ["ssh", ...pools];
    },
    ...honest("the host", { offers, create, list, destroy, stop, endAgent }),
    agentBuild: build,
    endpoint,
    dial,
    door: (nodeId) =>
      openChannelDoor(async () => {
        const { target, facts } = (await get(nodeId)).reached;
        return ssh.channel(target, (client, done) =>
          client.openssh_forwardOutStreamLocal(socketOf(facts), done as never),
        );
      }),
  };
}
