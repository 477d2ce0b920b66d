import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { buildOf, programArgs } from "../../../common/programs.ts";
import { shellWord } from "../../../common/shell-word.ts";
import { isWithin } from "../../../contract/task/infra.ts";
import { nodeIdOf } from "../../doors/node-id.ts";
import { openChannelDoor } from "../../doors/ssh/door.ts";
import type { ClusterRef, FoundNode, Need, NodeState, Offer, Provider } from "../provider.ts";
import { wrapErrors } from "../wrap-errors.ts";
import type { Login } from "./login.ts";
import { readMachines } from "./machines.ts";
import { offersOf, readNodes } from "./offers.ts";
import { jobNameOf, optionsOf } from "./options.ts";
import { type Allocation, isOpen, readQueue, stateOf } from "./queue.ts";
import {
  batchScript,
  endScript,
  machinesScript,
  nodeScript,
  nodesScript,
  queueScript,
  stepScript,
  submitScript,
} from "./scripts.ts";

/** A Slurm cluster that control may use. */
export interface Site {
  readonly name: string;
  readonly login: Login;
  /** On a file system that all nodes share: a folder a cluster. */
  readonly folder: string;
  /** On each node: a folder a node. */
  readonly scratch: string;
  readonly controlId: string;
}

const queueMs = 1_000;
const nodesMs = 60_000;
/** An allocation that starts at once is waited for, so that its cluster is not told to be pending. */
const startMs = 3_000;
const startEveryMs = 100;

/** A Slurm cluster as a cloud: a cluster is a job of its own, whose nodes live and die together. */
export function slurmProvider({ name: site, login, folder, scratch, controlId }: Site): Provider {
  const build = buildOf("agent");
  const program = [process.execPath, ...programArgs("agent")].map(shellWord).join(" ");
  const queue = cached(queueMs, async () => readQueue(await login.run(queueScript, []), controlId));
  const nodes = cached(nodesMs, async () => readNodes(await login.run(nodesScript, [])));
  /** Clusters that were ended; Slurm shows their jobs for some minutes. */
  const ended = new Set<string>();
  const folderOf = (clusterId: string) => join(folder, clusterId);

  async function offers(need: Need): Promise<Offer[]> {
    if (need.isSpot || need.mounts || need.container || !isAnyWithin(site, need.infra)) return [];
    return offersOf(site, (await nodes.read()).kinds, need);
  }

  async function prepare(cluster: ClusterRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const options = optionsOf(cluster, controlId, (await nodes.read()).kinds);
    const own = folderOf(cluster.id);
    const scripts = [`${build} ${program}`, batchScript, nodeScript];
    const batch = ["batch", own, scratch];
    ended.delete(cluster.id);
    // Not broken off: a submission that goes on by itself would be found too late.
    await login
      .run(submitScript, [own, jobNameOf(cluster), ...scripts, ...options, ...batch])
      .catch(refused)
      .finally(queue.forget);
    signal.throwIfAborted();
    const until = performance.now() + startMs;
    while ((await find(cluster.id))?.state === "PENDING" && performance.now() < until)
      await sleep(startEveryMs, queue.forget(), { signal });
  }

  const find = async (clusterId: string): Promise<Allocation | undefined> =>
    ended.has(clusterId) ? undefined : (await queue.read()).get(clusterId);

  async function list({ id, nodes: count }: ClusterRef): Promise<NodeState[]> {
    const job = await find(id);
    const state = job && stateOf(job);
    if (job === undefined || state === undefined) return [];
    const { addresses } = await nodes.read();
    return Array.from({ length: count }, (_, rank) => {
      const host = job.hosts[rank] ?? "";
      return { id: nodeIdOf({ id }, rank), rank, ...state, address: addresses.get(host) ?? host };
    });
  }

  async function findNodes(): Promise<FoundNode[]> {
    const jobs = [...(await queue.read()).values()].filter(
      (job) => isOpen(job) && !ended.has(job.id),
    );
    return jobs.flatMap((job) =>
      Array.from({ length: job.cluster.nodes }, (_, rank) => ({
        id: nodeIdOf(job, rank),
        state: stateOf(job)?.state ?? "stopped",
        cluster: job.cluster,
      })),
    );
  }

  /** The nodes of an allocation go together. */
  async function destroy(nodeId: string, signal: AbortSignal): Promise<void> {
    const { id } = partsOf(nodeId);
    if (ended.has(id)) return;
    await login.run(endScript, [folderOf(id), jobNameOf({ id })], signal).finally(queue.forget);
    ended.add(id);
  }

  /** A program in the allocation, on the node itself. */
  async function within(nodeId: string, what: "pipe" | "end"): Promise<string[]> {
    const { id, rank } = partsOf(nodeId);
    const job = await find(id);
    const host = job?.hosts[rank];
    if (job === undefined || host === undefined)
      fail("CloudError", `node ${nodeId} has no allocation`);
    const step = [
      "--overlap",
      `--jobid=${job.jobId}`,
      `--nodelist=${host}`,
      "--nodes=1",
      "--ntasks=1",
    ];
    // Slurm passes on whole lines otherwise, and the body of an answer ends in none.
    const bare = ["--mem=0", "--gres=none", "--quiet", "--unbuffered"];
    const own = folderOf(id);
    const begun = join(own, `begun-${rank}`);
    return [
      "bash",
      "-c",
      stepScript,
      begun,
      "srun",
      ...step,
      ...bare,
      "bash",
      join(own, "node"),
      own,
      scratch,
      what,
      String(rank),
    ];
  }

  return {
    name: "slurm",
    queues: true,
    agentBuild: build,
    places: async () => ["slurm", `slurm/${site}`],
    async inspect(place, signal) {
      if (place !== null && place !== site) return [];
      return [[site, readMachines(await login.run(machinesScript, [], signal))]];
    },
    ...wrapErrors("Slurm", {
      ...{ offers, prepare, list, destroy },
      find: findNodes,
      create: (cluster: ClusterRef, _rank: number, signal: AbortSignal) => prepare(cluster, signal),
      async endAgent(nodeId: string, signal: AbortSignal) {
        const command = await within(nodeId, "end");
        await login.run('exec "$@" < /dev/null', command, signal);
      },
    }),
    door: (nodeId) => openChannelDoor(async () => login.connect(await within(nodeId, "pipe"))),
    endpoint: async (node, port) => `${node.address}:${port}`,
  };
}

/** A job that Slurm does not take is tried at another offer. */
function refused(error: unknown): never {
  const isRefusal =
    error instanceof AppError &&
    /batch job submission failed|invalid|violates|not available/i.test(error.message) &&
    !/contact|authentication|socket|timed out/i.test(error.message);
  if (!isRefusal) throw error;
  throw new AppError("ResourcesUnavailableError", error.message, {}, error);
}

const isAnyWithin = (site: string, infra: string | undefined): boolean =>
  infra === undefined || isWithin(`slurm/${site}`, infra) || isWithin(infra, `slurm/${site}`);

const partsOf = (nodeId: string): { id: string; rank: number } => {
  const at = nodeId.lastIndexOf("-");
  return { id: nodeId.slice(0, at), rank: Number(nodeId.slice(at + 1)) };
};

/** What was read in the last while; callers at the same time share one answer. */
function cached<T>(ms: number, read: () => Promise<T>) {
  let last: { at: number; answer: Promise<T> } | undefined;
  return {
    read(): Promise<T> {
      if (last !== undefined && performance.now() - last.at < ms) return last.answer;
      const answer = read();
      const now = { at: performance.now(), answer };
      last = now;
      answer.catch(() => {
        if (last === now) last = undefined;
      });
      return answer;
    },
    forget(): void {
      last = undefined;
    },
  };
}
