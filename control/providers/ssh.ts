import type { Duplex } from "node:stream";
import { fail, messageOf } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { buildOf } from "../../common/programs.ts";
import { nodeIdOf } from "../doors/node-id.ts";
import {
  endAgentOn,
  hasStopped,
  openHostDoor,
  removeNodeOn,
  startAgentOn,
  stopNodeOn,
} from "../doors/ssh/agent-service.ts";
import type { Bundles } from "../doors/ssh/bundles.ts";
import type { SshConnections } from "../doors/ssh/connections.ts";
import { type Forwards, isReachable } from "../doors/ssh/forwards.ts";
import { installAgent } from "../doors/ssh/install.ts";
import { findOccupant, type Occupant } from "../doors/ssh/occupant.ts";
import type { ReachedHost } from "../doors/ssh/reached-host.ts";
import type { Logger } from "../log.ts";
import type { Host, HostBook, HostNode, ReadyHost } from "../ssh-pools/schema.ts";
import type { ClusterRef, FoundNode, Need, NodeState, Offer, Provider } from "./provider.ts";
import { chooseHosts, couldFit, offersOf } from "./ssh-hosts.ts";
import { wrapErrors } from "./wrap-errors.ts";

/** How hosts are reached, and what they get. */
export interface Ways {
  readonly connections: SshConnections;
  readonly bundles: Bundles;
  readonly forwards: Forwards;
  /** Which control plane a host says that it belongs to. */
  readonly controlId: string;
}

/** Attempts to find a host whose agent can be started, for a node that never had one. */
const attempts = 3;

/**
 * Machines that are there already, as a cloud: a node is a host that one cluster has for itself, and
 * the agent in its user's home. Stopping a node ends what runs on it; the machine stays on.
 */
export function sshProvider(book: HostBook, ways: Ways, log: Logger): Provider {
  const { connections: ssh, bundles, forwards, controlId } = ways;
  const build = buildOf("agent");
  /** Hosts that were found to be nodes of clusters that the book does not have, by the node's id. */
  const strays = new Map<string, { node: HostNode; host: Host }>();

  async function reach({ host }: { host: Host }): Promise<ReachedHost> {
    const { facts, pool, name } = host;
    if (facts === null) fail("CloudError", `host ${name} of pool ${pool} has not been checked yet`);
    return { ssh, facts, target: await book.targetOf(host) };
  }

  async function find(nodeId: string) {
    const found = (await book.find(nodeId)) ?? strays.get(nodeId);
    return found && { ...found, reached: await reach(found) };
  }

  const offers = async (need: Need): Promise<Offer[]> => offersOf(await book.listFree(), need);

  const get = async (nodeId: string) =>
    (await find(nodeId)) ?? fail("CloudError", `node ${nodeId} has no host`);

  async function start(cluster: ClusterRef, rank: number, signal: AbortSignal): Promise<void> {
    const { node, reached } = await get(nodeIdOf(cluster, rank));
    const { id: clusterId, name, nodes, offer } = cluster;
    const occupant = { control: controlId, clusterId, rank, cluster: { name, nodes, offer } };
    const installed = await installAgent(ssh, reached, bundles, signal);
    await startAgentOn(reached, installed, { build, occupant }, signal);
    if (node.state !== "running") await book.setState(node, "running");
  }

  async function create(cluster: ClusterRef, rank: number, signal: AbortSignal): Promise<void> {
    const nodeId = nodeIdOf(cluster, rank);
    const choose = (free: ReadyHost[], count: number) => chooseHosts(free, cluster, count);
    let last: unknown;
    for (let attempt = 1; ; attempt += 1) {
      // Why the last host was given up says more than that no other one is left.
      await book.claim(cluster, choose).catch((error) => {
        throw last ?? error;
      });
      let isOccupied = false;
      try {
        isOccupied = await isOfAnother(nodeId, signal);
        if (isOccupied) fail("CloudError", occupied);
        return await start(cluster, rank, signal);
      } catch (error) {
        const node = (await book.find(nodeId))?.node;
        if (signal.aborted || node?.state !== "claimed") throw error;
        await giveUp(node, error, !isOccupied);
        if (attempt === attempts) throw error;
        last = error;
      }
    }
  }

  /** Whether the host that a node was just given says that it is another node: the database may be an older copy. */
  async function isOfAnother(nodeId: string, signal: AbortSignal): Promise<boolean> {
    const { node, reached } = await get(nodeId);
    const occupant = node.state === "claimed" ? await findOccupant(reached, signal) : undefined;
    return occupant !== undefined && idOf(occupant) !== nodeId;
  }

  /** Nothing of the cluster is on the host yet: another one can take its place. */
  async function giveUp(node: HostNode, error: unknown, isDirty: boolean): Promise<void> {
    const why = messageOf(error);
    log.warn({ ...node.host, cluster: node.clusterName, why }, "host given up");
    await book.setProblem(node.host, why);
    await book.release(node, isDirty);
  }

  /** Asks every host that was ever looked at; those that cannot be reached now are left out, and logged. */
  async function findNodes(signal: AbortSignal): Promise<FoundNode[]> {
    const hosts = (await book.listHosts()).filter(({ facts }) => facts !== null);
    const found = await Promise.all(hosts.map((host) => findNodeOn(host, signal)));
    const unasked = hosts.filter((_, at) => found[at] === undefined);
    if (unasked.length > 0)
      log.warn(
        { hosts: unasked.map(({ pool, name }) => `${pool}/${name}`) },
        "hosts do not answer; orphans on them are not found",
      );
    const nodes = found.flatMap((of) => of ?? []);
    return [...new Map(nodes.map((node) => [node.id, node])).values()];
  }

  /** The node that a host is, if any; undefined where it does not answer. */
  async function findNodeOn(host: Host, signal: AbortSignal): Promise<FoundNode[] | undefined> {
    try {
      const occupant = await findOccupant(await reach({ host }), signal);
      if (occupant?.control !== controlId) return [];
      const { clusterId, rank, cluster, state } = occupant;
      const { pool, name } = host;
      const node = { clusterId, clusterName: cluster.name, rank, host: { pool, name }, state };
      if ((await book.find(idOf(occupant))) === undefined)
        strays.set(idOf(occupant), { node, host });
      return [{ id: idOf(occupant), state, cluster }];
    } catch (err) {
      signal.throwIfAborted();
      log.debug({ err, pool: host.pool, host: host.name }, "host not queried for its node");
      return undefined;
    }
  }

  /** All nodes of a cluster or none: another host would be made the node that was not found. */
  async function adopt(nodes: readonly FoundNode[]): Promise<void> {
    const { name, nodes: all } = nodes[0]?.cluster ?? { name: "?", nodes: 0 };
    if (nodes.length < all)
      fail(
        "ConflictError",
        `${nodes.length} of ${all} nodes of ${name} were found; adopt it once the hosts of the others answer, or end it`,
      );
    for (const { id } of nodes) {
      const stray = strays.get(id);
      // The book has it already.
      if (stray === undefined) continue;
      await book.adopt(stray.node, stray.host.machine ?? stray.host.name);
      strays.delete(id);
    }
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
    if (found === undefined) return destroyStray(nodeId, signal);
    forwards.close(nodeId);
    let isDirty = false;
    try {
      await removeNodeOn(await reach(found), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      isDirty = true;
      const why = messageOf(error);
      log.warn({ nodeId, ...found.node.host, why }, "host not cleaned");
      await book.setProblem(found.node.host, why);
    }
    await book.release(found.node, isDirty);
  }

  async function destroyStray(nodeId: string, signal: AbortSignal): Promise<void> {
    const stray = strays.get(nodeId);
    if (stray === undefined) return;
    const reached = await reach(stray);
    const occupant = await findOccupant(reached, signal);
    // By now it may be another node.
    if (occupant !== undefined && idOf(occupant) === nodeId) {
      await removeNodeOn(reached, signal);
      await book.setProblem(stray.host, null);
    }
    strays.delete(nodeId);
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
    ...wrapErrors("the host", { offers, create, list, destroy, stop, endAgent }),
    find: findNodes,
    adopt,
    agentBuild: build,
    endpoint,
    dial,
    door: (nodeId) => openHostDoor(async () => (await get(nodeId)).reached),
  };
}

const occupied = `the host is a node of a cluster that is not in the database; see \`${product.word} api orphans\``;

const idOf = ({ clusterId, rank }: Pick<Occupant, "clusterId" | "rank">): string =>
  nodeIdOf({ id: clusterId }, rank);
