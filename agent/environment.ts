import { envOf, product, protocol } from "../common/product.ts";
import type { JobSubmission, NodeSettings, PartSpec } from "../contract/agent-shapes.ts";
import type { HookSet } from "../contract/lifecycle-shapes.ts";
import type { Run } from "./lifecycles/row.ts";

/** The scripts that a job has. */
export const phases = ["setup", "run"] as const;
export type Phase = (typeof phases)[number];

const markAs =
  (noun: string) =>
  (folder: string): [name: string, value: string] => [
    `${product.word}_${noun}_folder`.toUpperCase(),
    folder,
  ];
/** The variable that marks every process of a job on a node; its value is the job's folder. */
export const markOf = markAs("job");
/** The variable that marks every process of a hook; its value is the hook's folder. */
export const hookMarkOf = markAs("hook");
/** The variable that marks the program of a mount, also one that the journal does not know. */
export const mountMarkOf = markAs("mount");

/**
 * Variables of a job that are the same on all its nodes. They lie below the task's own, so that a
 * job that is run again elsewhere keeps the TASK_ID that it was given first.
 */
export function jobVariables(
  job: Pick<JobSubmission, "nodes" | "userName">,
  id: number,
  node: NodeSettings,
  submittedAt: number,
): Record<string, string> {
  const { clusterName: cluster_name, cloud, region, zone } = node;
  return {
    ...envOf("TASK_ID", taskIdOf(id, cluster_name, submittedAt)),
    ...envOf("INTERNAL_JOB_ID", String(id)),
    ...envOf("NUM_NODES", String(job.nodes)),
    ...envOf("USER", job.userName),
    ...envOf("CLUSTER_INFO", JSON.stringify({ cluster_name, cloud, region, zone })),
  };
}

/** The whole environment of a script on a node. */
export function environmentOf(
  base: Readonly<Record<string, string>>,
  folder: string,
  spec: PartSpec,
  node: NodeSettings,
  { phase, gpus }: { phase: Phase; gpus: readonly number[] },
): Record<string, string> {
  const addresses = node.addresses.slice(0, spec.nodes);
  const devices = base["CUDA_VISIBLE_DEVICES"]?.split(",");
  const prefix = phase === "setup" ? "SETUP_" : "";
  return {
    ...base,
    MASTER_ADDR: addresses[0] ?? "127.0.0.1",
    ...spec.env,
    ...spec.secrets,
    ...envOf(`${prefix}NODE_RANK`, String(node.rank)),
    ...envOf(`${prefix}NODE_IPS`, addresses.join("\n")),
    ...envOf(`${prefix}NUM_GPUS_PER_NODE`, String(Math.ceil(spec.demand.accelerators))),
    ...(node.accelerators === null
      ? {}
      : { CUDA_VISIBLE_DEVICES: gpus.map((at) => devices?.[at] ?? at).join(",") }),
    ...Object.fromEntries([markOf(folder)]),
  };
}

/** The names of the variables that an environment adds to another, or changes there. */
export const addedTo = (
  base: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): string[] =>
  Object.keys(env).filter((name) => /^[A-Za-z_]\w*$/.test(name) && env[name] !== base[name]);

/** The whole environment of a hook. A node that nobody told who it is has no variables of its own. */
export function hookEnvironmentOf(
  base: Readonly<Record<string, string>>,
  folder: string,
  { env, secrets }: Pick<HookSet, "env" | "secrets">,
  node: NodeSettings | undefined,
  { lifecycleId, run }: { lifecycleId: string; run: Run },
): Record<string, string> {
  const seconds = Math.floor(run.timeoutSeconds ?? 0);
  return {
    ...base,
    ...env,
    ...secrets,
    ...(node === undefined ? {} : nodeVariables(node)),
    HOOK_EVENT: run.event,
    ...envOf("HOOK_EVENT", run.event),
    ...envOf("HOOK_INDEX", String(run.index)),
    ...envOf("HOOK_TIMEOUT", String(seconds)),
    ...envOf("HOOK_DEADLINE", String(Math.floor((run.startedAt ?? 0) / 1000) + seconds)),
    ...envOf("LIFECYCLE_ID", lifecycleId),
    ...envOf("HOOK_FOLDER", folder),
  };
}

function nodeVariables(node: NodeSettings): Record<string, string> {
  const { clusterName: cluster_name, cloud, region, zone, addresses } = node;
  return {
    MASTER_ADDR: addresses[0] ?? "127.0.0.1",
    ...envOf("NODE_RANK", String(node.rank)),
    ...envOf("NODE_IPS", addresses.join("\n")),
    ...envOf("NUM_NODES", String(addresses.length)),
    ...envOf("NUM_GPUS_PER_NODE", String(node.accelerators?.count ?? 0)),
    ...envOf("CLUSTER_INFO", JSON.stringify({ cluster_name, cloud, region, zone })),
  };
}

/** `sky-2026-01-31-23-59-59-000000_<cluster>_<id>`: the form that scripts take apart. */
function taskIdOf(id: number, cluster: string, submittedAt: number): string {
  const digits = new Date(submittedAt).toISOString().replace(/[T:.]/g, "-").replace("Z", "000");
  return `${protocol.requestPrefix}-${digits}_${cluster}_${id}`;
}
