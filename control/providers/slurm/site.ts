import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { buildOf } from "../../../common/programs.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { openTurns } from "../../../common/turns.ts";
import { nodeIdOf, partsOfNodeId } from "../../doors/node-id.ts";
import type { Forwards } from "../../doors/ssh/forwards.ts";
import { cached } from "../cached.ts";
import type { ClusterRef, FoundNode, MachineNow, Need, NodeState, Offer } from "../provider.ts";
import type { Login } from "./login.ts";
import { readMachines } from "./machines.ts";
import { type NodeKind, offersOf, readNodes } from "./offers.ts";
import { type AskedOfSlurm, jobNameOf, kindsIn, optionsOf, partitionOf } from "./options.ts";
import { type Allocation, isOpen, readQueue, stateOf } from "./queue.ts";
import { isUnsubmitted, refuses } from "./refusals.ts";
import { openRelays, type RelayedNode } from "./relays.ts";
import {
  batchScript,
  complaintScript,
  endScript,
  foldersScript,
  forgetScript,
  machinesScript,
  nodeScript,
  nodesScript,
  outlookScript,
  queueScript,
  stepScript,
  submitScript,
  unsubmitted,
} from "./scripts.ts";

/** A Slurm cluster that control may use. */
export interface Site {
  readonly name: string;
  readonly login: Login;
  /** To nodes that only the login node reaches. */
  readonly forwards: Forwards;
  /** On each node: a folder a node. */
  readonly scratch: string;
  readonly controlId: string;
  /** Higher than that of any process of this control plane before. */
  readonly epoch: number;
}

const queueMs = 1_000;
const nodesMs = 60_000;
/** An allocation that starts at once is waited for, so that its cluster is not told to be pending. */
const startMs = 3_000;
const startEveryMs = 100;
/** Scripts wait for allocations to end, and others have to go on meanwhile. */
const endsAtOnce = 3;

export const agentBuild = buildOf("agent");

export type OpenSite = ReturnType<typeof openSite>;

/**
 * The duties of a cloud at one site: a cluster is a job of its own, whose nodes live and die together.
 *
 * A cluster never has two allocations. A site that goes away after it was chosen is passed over only if its login node
 * itself says that nothing was submitted for the cluster (`submitScript`). After any other failure a job may be there:
 * the cluster stays at the site. Once that answers, the job is found by its name, and is used, or is cancelled
 * if the cluster is not wanted any more.
 */
export function openSite({ name, login, forwards, scratch, controlId, epoch }: Site) {
  const notes = async () => [join(await login.folder(), `.${controlId}.`), `${epoch}`];
  const look = (script: string, args: string[]) => login.run(script, args, undefined, "look");
  const queue = cached(queueMs, async () =>
    readQueue(await look(queueScript, await notes()), controlId),
  );
  const nodes = cached(nodesMs, async () => readNodes(await look(nodesScript, [])));
  const folders = cached(queueMs, async () => {
    const text = await look(foldersScript, await notes());
    return new Set(text.split("\n"));
  });
  const inTurn = openTurns(endsAtOnce);
  const relays = openRelays(login);
  const places = new Map<string, RelayedNode>();
  /** Clusters that were ended; Slurm shows their jobs for some minutes. */
  const ended = new Set<string>();
  const endings = new Map<string, Promise<void>>();
  /** Clusters whose job this process has seen to, with its build of the agent. */
  const prepared = new Set<string>();
  /** Clusters of which an agent has answered. */
  const reached = new Set<string>();
  let lacksEngine = false;
  const folderOf = async (clusterId: string) => join(await login.folder(), clusterId);
  /** What scripts are given that change something of a cluster. */
  const wordsOf = async (id: string) => [await folderOf(id), jobNameOf({ id }), ...(await notes())];

  async function offers(need: Need): Promise<Offer[]> {
    const { kinds, hasEngine } = await nodes.read();
    lacksEngine = !hasEngine;
    return need.container && lacksEngine ? [] : offersOf(name, kinds, need);
  }

  async function outlook(asked: AskedOfSlurm, signal: AbortSignal): Promise<string> {
    const { kinds } = await nodes.read();
    const own = kindsIn(partitionOf(asked), kinds);
    const limits = own.flatMap(({ partition, limit, jobSize }) => [
      `time limit ${limit}${own.length > 1 ? ` in ${partition}` : ""}`,
      ...(jobSize.endsWith("infinite") ? [] : [`${jobSize} nodes`]),
    ]);
    const options = optionsOf({ id: "", name: "", ...asked }, controlId, kinds);
    const said = await login.run(outlookScript, options, signal).catch((error) => {
      if (refuses(error)) fail("ResourcesUnavailableError", error.message);
      return "";
    });
    const [, start] = /to start at (\S+):\d\d/.exec(said) ?? [];
    return [...limits, ...(start ? [`estimated start ${start}`] : [])].join(", ");
  }

  async function prepare(cluster: ClusterRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const options = optionsOf(cluster, controlId, await kindsFor(cluster));
    const own = await wordsOf(cluster.id);
    const program = (await login.agent(signal)).map(shellWord).join(" ");
    const scripts = [`${agentBuild} ${program}`, batchScript, nodeScript];
    ended.delete(cluster.id);
    const words = [...own, ...scripts, ...options, "batch", ...own.slice(0, 1), scratch];
    // Not broken off: a submission that goes on by itself would be found too late.
    await login
      .run(submitScript, words, signal, "whole")
      .catch((error: unknown) => refuse(cluster.id, own, error, signal))
      .finally(() => [queue, folders].map(({ forget }) => forget()));
    prepared.add(cluster.id);
    signal.throwIfAborted();
    const until = performance.now() + startMs;
    for (;;) {
      const job = await find(cluster.id);
      if (job?.isHopeless) await giveUp(job, job.reason, signal);
      if (job?.state !== "PENDING" || performance.now() > until) return;
      await sleep(startEveryMs, queue.forget(), { signal });
    }
  }

  /** What there is for a cluster. Where Slurm does not say, one without a job here goes elsewhere. */
  const kindsFor = async ({ id }: ClusterRef): Promise<NodeKind[]> =>
    nodes.read().then(
      ({ kinds }) => kinds,
      async (error: unknown) => {
        if (!(error instanceof AppError) || !(await isNew(id))) throw error;
        return passOver(id, error, error.message + unsubmitted);
      },
    );

  function passOver(id: string, error: AppError, message: string): never {
    ended.add(id);
    nodes.forget();
    throw new AppError("ResourcesUnavailableError", message, { refusal: "capacity" }, error);
  }

  /** Throws what the failure of a submission means. */
  async function refuse(id: string, own: string[], error: unknown, signal: AbortSignal) {
    if (isUnsubmitted(error)) passOver(id, error, error.message);
    if (!refuses(error)) throw error;
    // What is left of it does no harm.
    await login.run(forgetScript, own, signal).catch(() => {});
    throw new AppError("ResourcesUnavailableError", error.message, {}, error);
  }

  async function giveUp({ id }: Allocation, why: string, signal: AbortSignal): Promise<never> {
    await destroy(nodeIdOf({ id }, 0), signal);
    return fail("ResourcesUnavailableError", why);
  }

  /** Of an allocation that failed: its log goes with it. */
  const failureOf = async (job: Allocation): Promise<string> =>
    `${stateOf(job).over}${await look(complaintScript, [await folderOf(job.id)])}`;

  /** What `prepare` just made needs no other look at the login node, and would fail again if it did before it began. */
  async function create(cluster: ClusterRef, signal: AbortSignal): Promise<void> {
    const job = prepared.has(cluster.id) ? await find(cluster.id) : undefined;
    if (job?.state === "FAILED" && !reached.has(job.id))
      await giveUp(job, await failureOf(job), signal);
    if (job?.state !== "RUNNING") await prepare(cluster, signal);
  }

  /** One that holds nodes although its cluster was ended has come since: it was on its way then. */
  async function find(clusterId: string): Promise<Allocation | undefined> {
    const job = (await queue.read()).get(clusterId);
    return job !== undefined && (isOpen(job) || !ended.has(clusterId)) ? job : undefined;
  }

  /** Whether the login node says that a cluster has nothing here, so Slurm need not be asked. */
  const isNew = async (id: string): Promise<boolean> =>
    folders.read().then(
      (ids) => !ids.has(id),
      () => false,
    );

  async function list({ id, nodes: count }: ClusterRef): Promise<NodeState[]> {
    const job = await find(id).catch(async (error: unknown) => {
      if (prepared.has(id) || !(await isNew(id))) throw error;
    });
    if (job === undefined) return [];
    // One that would never start is not waited for: it is submitted once more, which `prepare` gives up then.
    const isGivenUp = job.isHopeless && !job.isRequeued;
    const state = isGivenUp ? { state: "stopped" as const, reason: job.reason } : stateOf(job);
    const failure = job.state === "FAILED" && { over: await failureOf(job) };
    const { addresses } = await nodes.read();
    return Array.from({ length: count }, (_, rank) => {
      const host = job.hosts[rank] ?? "";
      const node = { id: nodeIdOf({ id }, rank), rank, address: addresses.get(host) ?? host };
      return { ...node, ...state, ...failure };
    });
  }

  async function findNodes(): Promise<FoundNode[]> {
    const jobs = [...(await queue.read()).values()].filter(
      (job) => isOpen(job) && job.cluster.offer.region === name,
    );
    return jobs.flatMap((job) =>
      Array.from({ length: job.cluster.nodes }, (_, rank) => ({
        id: nodeIdOf(job, rank),
        state: stateOf(job).state,
        cluster: job.cluster,
      })),
    );
  }

  /** The nodes of an allocation go together, so all of them wait for one end. */
  async function destroy(nodeId: string, signal: AbortSignal): Promise<void> {
    const { clusterId: id } = partsOfNodeId(nodeId);
    forwards.close(nodeId);
    places.delete(nodeId);
    const ending = endings.get(id) ?? end(id, signal).finally(() => endings.delete(id));
    endings.set(id, ending);
    await ending;
  }

  async function end(id: string, signal: AbortSignal): Promise<void> {
    if (ended.has(id) && (await find(id)) === undefined) return;
    prepared.delete(id);
    reached.delete(id);
    relays.forget(await folderOf(id));
    const words = await wordsOf(id);
    await inTurn(() => login.run(endScript, words, signal)).finally(queue.forget);
    ended.add(id);
  }

  /** Where a node of an allocation is. */
  async function place(nodeId: string) {
    const { clusterId: id, rank } = partsOfNodeId(nodeId);
    const job = await find(id);
    const host = job?.hosts[rank];
    if (job === undefined || host === undefined)
      fail("CloudError", `node ${nodeId} has no allocation`);
    const address = (await nodes.read()).addresses.get(host) ?? host;
    return { jobId: job.jobId, rank, host, address, folder: await folderOf(id) };
  }

  /** Where a node was reached last is not asked of Slurm again, which may be away while the node is well. */
  async function reach(nodeId: string): Promise<Duplex> {
    const known = places.get(nodeId) ?? (await place(nodeId));
    try {
      const way = await relays.connect(known);
      places.set(nodeId, known);
      reached.add(partsOfNodeId(nodeId).clusterId);
      return way;
    } catch (error) {
      places.delete(nodeId);
      throw error;
    }
  }

  async function endAgent(nodeId: string, signal: AbortSignal): Promise<void> {
    const { jobId, rank, host, folder } = await place(nodeId);
    const step = ["--overlap", `--jobid=${jobId}`, `--nodelist=${host}`, "--nodes=1", "--ntasks=1"];
    const bare = ["--mem=0", "--gres=none", "--quiet"];
    const end = ["bash", join(folder, "node"), folder, scratch, "end", String(rank)];
    const begun = join(folder, `port-${rank}`);
    await login.run(stepScript, [begun, "srun", ...step, ...bare, ...end], signal);
  }

  return {
    /** As the login node last said, which is taken to have what nodes have. */
    lacksEngine: () => lacksEngine,
    ...{ name, offers, outlook, prepare, create, list, destroy, find: findNodes, endAgent, reach },
    async inspect(signal: AbortSignal): Promise<[string, MachineNow[]]> {
      return [name, readMachines(await login.run(machinesScript, [], signal))];
    },
    async endpoint({ id, address }: NodeState, port: number): Promise<string> {
      if (login.isHere) return `${address}:${port}`;
      return forwards.open(id, port, () => login.dial(address, port));
    },
  };
}
