import { machine } from "node:os";
import type { Duplex } from "node:stream";
import { AppError, fail } from "../../../common/errors.ts";
import { buildOf } from "../../../common/programs.ts";
import type { Seal } from "../../../common/seal.ts";
import { isWithin } from "../../../contract/task/infra.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { commandStream, portStream } from "../../doors/kubernetes/channels.ts";
import type { KubeClusters } from "../../doors/kubernetes/clusters.ts";
import { beginCommand, podPath } from "../../doors/kubernetes/exec.ts";
import { nodeIdOf, partsOfNodeId } from "../../doors/node-id.ts";
import type { Bundles } from "../../doors/ssh/bundles.ts";
import { openChannelDoor } from "../../doors/ssh/door.ts";
import { type Forwards, isReachable } from "../../doors/ssh/forwards.ts";
import type { Logger } from "../../log.ts";
import type {
  ClusterRef,
  FoundNode,
  MachineNow,
  Need,
  NodeState,
  Offer,
  Provider,
} from "../provider.ts";
import { wrapErrors } from "../wrap-errors.ts";
import { bringAgent, endAgentIn, pipeCommand } from "./bring.ts";
import { machinesOf } from "./machines.ts";
import { offersOf } from "./nodes.ts";
import type { Pod } from "./objects.ts";
import { endOf, hasExpired, refuse, refuseUnstarted } from "./pending.ts";
import { clusterAnnotation, labels, type PodDefaults, podName, podOf } from "./pod.ts";
import {
  graceIn,
  hasEnded,
  isPending,
  listNodes,
  listRunning,
  phaseOf,
  readPod,
  removePod,
  untilGoneOrLost,
  whyLost,
  whyUnready,
} from "./pods.ts";
import { findOutside } from "./ports.ts";
import { ensureShared } from "./shared.ts";
import { openSpots } from "./spot.ts";
import { lookAtPending, openPendingPods, untilBegun } from "./waiting.ts";
import { podsWith } from "./watch.ts";

/** How pods are reached, and what they get. */
export interface KubeWays extends PodDefaults {
  readonly clusters: KubeClusters;
  readonly bundles: Bundles;
  readonly forwards: Forwards;
  readonly seal: Seal;
  /** How long a pod may wait for a place before another offer is tried. */
  readonly provisionMs: number;
  /** Has a cluster looked at soon. */
  wake(clusterId: string): void;
}

/** A launch waits so long with a pod until others have their turn. */
const startMs = 20_000;
/** A node that is looked for, without anybody who waits. */
const findMs = 10_000;

/** Kubernetes as a cloud: a node is a pod, and its first process starts the agent that control brings into it. */
export function kubernetesProvider(ways: KubeWays, log: Logger): Provider {
  const { clusters, bundles, forwards, controlId, seal } = ways;
  const build = buildOf("agent");
  /** The contexts that nodes were seen in. */
  const contexts = new Map<string, string>();

  const followPending = openPendingPods((pod) => ways.wake(partsOfNodeId(nodeOf(pod)).clusterId));
  const podsIn = (api: KubeApi) => podsWith(api, { [labels.control]: controlId });

  async function listPods(api: KubeApi, signal: AbortSignal): Promise<readonly Pod[]> {
    const pods = await podsIn(api).all(signal);
    for (const pod of pods) contexts.set(nodeOf(pod), api.context);
    return pods;
  }

  const apisOf = async (): Promise<KubeApi[]> =>
    Promise.all((await clusters.names()).map((name) => clusters.api(name)));

  /** Where a node is; a context that does not answer may have one that was never seen. */
  async function placeOf(nodeId: string, signal: AbortSignal): Promise<KubeApi | undefined> {
    const known = contexts.get(nodeId);
    if (known !== undefined) return clusters.api(known);
    for (const api of await apisOf())
      if ((await listPods(api, signal)).some((pod) => nodeOf(pod) === nodeId)) return api;
    return undefined;
  }

  const getPlace = async (nodeId: string): Promise<KubeApi> =>
    (await placeOf(nodeId, AbortSignal.timeout(findMs))) ??
    fail("CloudError", `node ${nodeId} has no pod`);

  async function offers(need: Need, signal: AbortSignal): Promise<Offer[]> {
    const { infra = "*" } = need;
    const asked = (await apisOf()).filter(({ context }) =>
      isWithin(`kubernetes/${context}`, infra),
    );
    const all = asked.map(async (api) => offersOf(api.context, await listNodes(api, signal), need));
    return (await Promise.all(all)).flat();
  }

  async function inspect(place: string | null, signal: AbortSignal) {
    const all = (await apisOf()).filter(({ context }) => place === null || context === place);
    return Promise.all(
      all.map(async (api): Promise<[string, MachineNow[]]> => {
        const pods = await listRunning(api, signal).catch(() => undefined);
        signal.throwIfAborted();
        return [api.context, machinesOf(await listNodes(api, signal), pods)];
      }),
    );
  }

  function defaultsFor({ machine }: ClusterRef): PodDefaults {
    const { sealedLogin: sealed } = machine;
    const login = sealed && JSON.parse(seal.open(Buffer.from(sealed, "base64")));
    return { ...ways, ...(login && { login }) };
  }

  async function create(cluster: ClusterRef, rank: number, signal: AbortSignal): Promise<void> {
    const api = await clusters.api(cluster.offer.region);
    const nodeId = nodeIdOf(cluster, rank);
    contexts.set(nodeId, api.context);
    const pod = await ensurePod(api, cluster, rank, signal);
    if (pod === undefined) return;
    await ensureShared(api, cluster, pod, defaultsFor(cluster), signal);
    const begun = await untilBegun(podsIn(api), pod, startMs, signal);
    refuseUnstarted(begun);
    if (begun.status.phase !== "Running") return;
    await bringAgent(api, podName(nodeId), bundles, build, signal).catch(async (error) => {
      signal.throwIfAborted();
      const why = await whyUnready(api, begun, signal);
      if (why === undefined) throw error;
      throw new AppError("CloudError", `pod ${podName(nodeId)} is on ${why}`, {}, error);
    });
  }

  /**
   * The pod of a node; one that has ended, or that nothing had a place for in time, makes room for another. Undefined
   * if the pod was deleted meanwhile: the caller decides whether to create another.
   */
  async function ensurePod(
    api: KubeApi,
    cluster: ClusterRef,
    rank: number,
    signal: AbortSignal,
  ): Promise<Pod | undefined> {
    const name = podName(nodeIdOf(cluster, rank));
    const there = await readPod(api, name, signal);
    if (there !== undefined) {
      const isLeaving = there.metadata.deletionTimestamp !== undefined;
      const lacking = isPending(there) && (await lookAtPending(api, there, signal));
      const isRefused = lacking && hasExpired(cluster, there, lacking, ways);
      if (!isLeaving && !hasEnded(there) && !isRefused) return there;
      // What takes it away gives it time for its hooks.
      if (isLeaving) await untilGoneOrLost(podsIn(api), there, signal);
      else await removePod(podsIn(api), name, signal);
      if (isRefused) refuse(lacking);
      if (isLeaving) return undefined;
    }
    // Packing begins with the pod. If it fails, the step that needs the bundle says why.
    if (ways.runtimeImage === undefined) bundles.runtime(machine()).catch(() => {});
    const body = podOf(cluster, rank, await listNodes(api, signal), defaultsFor(cluster));
    const made = await api.send<Pod>("POST", podPath(api.namespace), body, signal);
    log.debug({ pod: name, context: api.context }, "pod created");
    const now = made ?? (await readPod(api, name, signal));
    if (now === undefined) fail("CloudError", `pod ${name} was there, and is not any more`);
    podsIn(api).note(now);
    return now;
  }

  async function list(cluster: ClusterRef, signal: AbortSignal): Promise<NodeState[]> {
    const api = await clusters.api(cluster.offer.region);
    const all = await listPods(api, signal);
    const own = all.filter(({ metadata }) => metadata.labels?.[labels.cluster] === cluster.id);
    const states = await Promise.all(own.map((pod) => stateOf(api, cluster, pod, signal)));
    return states.sort((a, b) => a.rank - b.rank);
  }

  /** What the pods of a cluster were made with: a launch on it changes nothing of them. */
  async function noticeOf({ id, offer }: ClusterRef): Promise<number | undefined> {
    const pods = await listPods(await clusters.api(offer.region), AbortSignal.timeout(findMs));
    const all = pods.filter(({ metadata }) => metadata.labels?.[labels.cluster] === id);
    return all.length === 0 ? undefined : Math.min(...all.map(graceIn));
  }

  async function stateOf(
    api: KubeApi,
    cluster: ClusterRef,
    pod: Pod,
    signal: AbortSignal,
  ): Promise<NodeState> {
    const { labels: own } = pod.metadata;
    const { podIP: address = "node.invalid" } = pod.status;
    const phase = phaseOf(pod);
    const node = { id: nodeOf(pod), rank: Number(own?.[labels.rank]), address };
    const gone = phase === "Failed" ? endOf(pod) : await whyLost(api, pod, signal);
    if (gone !== undefined) return { ...node, state: "stopped", gone };
    if (phase !== "Pending")
      return { ...node, state: phase === "Succeeded" ? "stopped" : "running" };
    const lacking = await lookAtPending(api, pod, signal);
    // To create it again refuses it.
    if (hasExpired(cluster, pod, lacking, ways)) return { ...node, state: "stopped" };
    followPending(podsIn(api), pod);
    return { ...node, state: "pending", reason: lacking.why };
  }

  async function find(signal: AbortSignal): Promise<FoundNode[]> {
    // A context that does not answer now is left out, and hides nothing of the others.
    const all = (await apisOf()).map((api) =>
      listPods(api, signal).catch((err: unknown) => {
        signal.throwIfAborted();
        log.warn({ err, context: api.context }, "orphans in a context are not found");
        return [];
      }),
    );
    return (await Promise.all(all)).flat().map((pod) => ({
      id: nodeOf(pod),
      state: hasEnded(pod) ? "stopped" : isPending(pod) ? "pending" : "running",
      cluster: JSON.parse(pod.metadata.annotations?.[clusterAnnotation] ?? "null"),
    }));
  }

  async function destroy(
    nodeId: string,
    signal: AbortSignal,
    graceSeconds?: number,
  ): Promise<void> {
    forwards.close(nodeId);
    const api = await placeOf(nodeId, signal);
    if (api === undefined) return;
    await removePod(podsIn(api), podName(nodeId), signal, graceSeconds);
    contexts.delete(nodeId);
  }

  async function endpoint(node: NodeState, port: number): Promise<string> {
    if (ways.ports !== "forward") {
      const { clusterId } = partsOfNodeId(node.id);
      const api = await getPlace(node.id);
      const limit = AbortSignal.timeout(findMs);
      const outside = await findOutside(api, ways.ports, clusterId, port, limit);
      if (outside !== undefined) return outside;
    }
    if (await isReachable(node.address, port)) return `${node.address}:${port}`;
    return forwards.open(node.id, port, () => dial(node, "127.0.0.1", port));
  }

  async function dial({ id }: NodeState, _host: string, port: number): Promise<Duplex> {
    const api = await getPlace(id);
    const path = `${podPath(api.namespace, podName(id))}/portforward?ports=${port}`;
    return portStream(await api.channels(path));
  }

  async function endAgent(nodeId: string, signal: AbortSignal): Promise<void> {
    const api = await placeOf(nodeId, signal);
    if (api !== undefined) await endAgentIn(api, podName(nodeId), signal);
  }

  async function openPipe(nodeId: string): Promise<Duplex> {
    return commandStream(await beginCommand(await getPlace(nodeId), podName(nodeId), pipeCommand));
  }

  return {
    name: "kubernetes",
    queues: true,
    bootsImages: true,
    noticeSeconds: ways.graceAtMost,
    noticeOf,
    agentBuild: build,
    hasSpot: openSpots(apisOf),
    async places() {
      // A kubeconfig that cannot be read is told by `offers`; here it would hide the places of others.
      const names = await clusters.names().catch(() => undefined);
      return names?.length === 0
        ? []
        : ["kubernetes", ...(names ?? []).map((name) => `kubernetes/${name}`)];
    },
    async shortages({ infra = "kubernetes" } = {}) {
      const why = isWithin(infra, "kubernetes") ? await clusters.whyNone() : undefined;
      return why === undefined ? [] : [`kubernetes: ${why}`];
    },
    ...wrapErrors("Kubernetes", {
      ...{ offers, inspect, create, list, find, endAgent },
      destroy: (nodeId: string, signal: AbortSignal) => destroy(nodeId, signal),
      takeAway: (nodeId: string, signal: AbortSignal) => destroy(nodeId, signal, 1),
    }),
    endpoint,
    dial,
    door: (nodeId) => openChannelDoor(() => openPipe(nodeId)),
  };
}

const nodeOf = ({ metadata }: Pod): string => metadata.labels?.[labels.node] ?? "";
