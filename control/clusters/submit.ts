import { AppError } from "../../common/errors.ts";
import { agentOperations } from "../../contract/agent-api.ts";
import {
  type Job,
  type JobSidecar,
  type Limits,
  runsNothing,
} from "../../contract/agent-shapes.ts";
import type { Task } from "../../contract/task.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { candidateOf } from "../needs.ts";
import { secretVariablesOf } from "../task.ts";
import { containerCargo } from "./files/contained.ts";
import { deliverFiles } from "./files/deliver.ts";
import { keepParcels } from "./files/kept.ts";
import type { Cargo } from "./files/parcels.ts";
import { headOf } from "./head.ts";
import { findLastJobId } from "./queue-snapshot.ts";
import type { Cluster } from "./schema.ts";

/** What a job takes of a node's CPUs when it asks for none in particular. */
const usualCpus = 0.5;
const megabyte = 2 ** 20;
const gigabyte = 2 ** 30;

/** Whether a head refused a job because it, or the cluster, is about to go. */
export const isAboutToGo = (error: unknown): error is AppError =>
  error instanceof AppError &&
  error.type === "ConflictError" &&
  typeof error.details["lifecycle"] === "string";

/** What goes along with a task. */
interface Given {
  readonly withSetup: boolean;
  /** Nodes skip a setup that they have completed already. */
  readonly reusesSetup?: boolean;
  readonly cargoes: readonly Cargo[];
  /** Beside the variables of the task. */
  readonly env?: Readonly<Record<string, string>>;
  readonly sidecar?: JobSidecar | null;
}

/**
 * Brings a task's files to the nodes of a cluster, then hands the task to its head; undefined when
 * the task has nothing to run.
 */
export async function submitJob(
  ctx: Context,
  cluster: Cluster,
  task: Task,
  { cargoes, ...given }: Given,
  call: Call,
): Promise<Job | undefined> {
  // The queue of a cluster that a managed job has for itself is not kept.
  const isOfJob = cluster.madeFor?.noun === "managed_job";
  const lastJobId = isOfJob ? 0 : await findLastJobId(ctx, cluster);
  const submission = { ...submissionOf(ctx, cluster, task, given, call), lastJobId };
  const { bootsImages } = ctx.provider(cluster.provider);
  const containers = bootsImages ? [] : containerCargo(cluster, task, given);
  await bringToAll(ctx, cluster, [...cargoes, ...containers], call);
  if (runsNothing(submission)) return undefined;
  const options = { signal: call.signal };
  const job = await headOf(ctx, cluster).call(agentOperations.submit, submission, options);
  call.print(`Job submitted, ID: ${job.id}\n`);
  return job;
}

/** Written down first, so that a node which is made anew meanwhile gets them, too. */
async function bringToAll(
  ctx: Context,
  cluster: Cluster,
  cargoes: readonly Cargo[],
  call: Call,
): Promise<void> {
  const ranks = [...Array(cluster.nodes).keys()];
  const tell = (line: string) => call.print(`${line}\n`);
  const parcels = cargoes.map(({ parcel }) => parcel);
  await keepParcels(ctx, cluster.id, parcels, false);
  await deliverFiles(ctx, cluster, cargoes, { ranks, isPatient: true, tell }, call.signal);
  await keepParcels(ctx, cluster.id, parcels, true);
}

/** The job as the head is told of it; by the call's id it knows a second attempt. */
const submissionOf = (
  { config }: Pick<Context, "config">,
  cluster: Cluster,
  task: Task,
  { withSetup, reusesSetup = false, env = {}, sidecar = null }: Omit<Given, "cargoes">,
  call: Call,
) => ({
  submissionId: call.id,
  name: task.name ?? "-",
  userId: call.user.id,
  userName: call.user.name,
  setup: withSetup ? (task.setup ?? null) : null,
  reusesSetup,
  run: task.run ?? null,
  env: { ...task.envs, ...env },
  secrets: secretVariablesOf(task),
  sidecar,
  nodes: task.nodes,
  limits: limitsOf(config, cluster, task),
  ...demandOf(cluster, task),
});

/** What the job takes of each node, and the words for it. */
function demandOf({ offer }: Cluster, { resources, nodes }: Task) {
  const kind = candidateOf(resources, offer)?.accelerator;
  const accelerators = kind?.count ?? 0;
  const name = kind && "name" in kind ? kind.name : offer.accelerators?.name;
  const named = kind && `${name}:${kind.count}`;
  const cpus = Math.min(usualCpus, offer.cpus);
  return {
    demand: { cpus, accelerators },
    resources: `${nodes}x[${named ?? `CPU:${cpus}`}]`,
  };
}

/** What the job gets of each node at most: what it asked for, where that has no plus. */
function limitsOf(
  { jobLimits, jobProcesses, jobLogMegabytes }: Ground["config"],
  { offer }: Cluster,
  { resources }: Task,
): Limits {
  const asked = candidateOf(resources, offer);
  const memory = jobLimits === "none" || asked?.memory?.orMore ? undefined : asked?.memory;
  const cpus = jobLimits !== "all" || asked?.cpus?.orMore ? undefined : asked?.cpus;
  return {
    logBytes: jobLogMegabytes * megabyte,
    ...(memory !== undefined && { memoryBytes: Math.ceil(memory.gb * gigabyte) }),
    ...(cpus !== undefined && cpus.count > 0 && { cpus: cpus.count }),
    ...(jobProcesses !== undefined && { processes: jobProcesses }),
  };
}
