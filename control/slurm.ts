import { messageOf } from "../common/errors.ts";
import type { InputOf, OutputOf } from "../common/operation.ts";
import { slurmOperations as rows } from "../contract/operations/slurm.ts";
import { type Bound, bind, type Call } from "./bind.ts";
import type { Context } from "./context.ts";
import { rowsOf } from "./ssh-pools/accelerators.ts";
import { policyOf } from "./workspaces/schema.ts";

/** What the nodes of Slurm clusters have, and how much of it is free. */
export const slurmOperations: Bound[] = [
  bind(rows.slurmGpuAvailability, availability),
  bind(rows.slurmNodeInfo, nodeInfo),
  bind(rows.slurmNodeInfoByGet, nodeInfo),
];

/** A cluster that does not answer has a row that says why. */
async function availability(
  ctx: Context,
  { slurm_cluster_name: wanted, ...filters }: InputOf<typeof rows.slurmGpuAvailability>,
  call: Call,
): Promise<OutputOf<typeof rows.slurmGpuAvailability>> {
  const names = await clustersOf(ctx, wanted, call);
  return Promise.all(
    names.map(async (name) => {
      const { machines, trouble } = await machinesOf(ctx, name, call);
      return [name, rowsOf(machines, filters), trouble] as const;
    }),
  );
}

/** A cluster that does not answer has no rows. */
async function nodeInfo(
  ctx: Context,
  { slurm_cluster_name: wanted }: InputOf<typeof rows.slurmNodeInfo>,
  call: Call,
): Promise<OutputOf<typeof rows.slurmNodeInfo>> {
  const [name] = await clustersOf(ctx, wanted, call);
  if (name === undefined) return [];
  const { machines } = await machinesOf(ctx, name, call);
  return machines.map((machine) => ({
    node_name: machine.name,
    slurm_cluster_name: name,
    partition: machine.queue?.partitions.join(",") ?? "",
    node_state: machine.queue?.state ?? "",
    gpu_type: machine.accelerator_type,
    total_gpus: machine.total.accelerator_count,
    free_gpus: machine.free.accelerators_available,
    vcpu_count: machine.cpu_count ?? 0,
    memory_gb: machine.memory_gb ?? 0,
  }));
}

const slurmOf = ({ providers }: Context) => providers.find(({ name }) => name === "slurm");

/** The Slurm clusters that a workspace can use; only the wanted one where one is named. */
async function clustersOf(ctx: Context, wanted: string | null, call: Call): Promise<string[]> {
  const { allows } = policyOf((await ctx.configurations.current()).document, call.workspace);
  const places = (await slurmOf(ctx)?.places?.()) ?? [];
  return places
    .filter((place) => place.includes("/") && allows(place))
    .map((place) => place.slice(place.indexOf("/") + 1))
    .filter((name) => wanted === null || name === wanted);
}

/** The nodes of a cluster, or why it does not answer. */
async function machinesOf(ctx: Context, name: string, { signal }: Call) {
  try {
    const found = (await slurmOf(ctx)?.inspect?.(name, signal)) ?? [];
    return { machines: found.flatMap(([, machines]) => machines), trouble: null };
  } catch (error) {
    signal.throwIfAborted();
    return { machines: [], trouble: messageOf(error) };
  }
}
