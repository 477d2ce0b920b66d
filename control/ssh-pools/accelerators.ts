import type { InputOf, OutputOf } from "../../common/operation.ts";
import type { kubernetesOperations as rows } from "../../contract/operations/kubernetes.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { contextOf, contextPrefix, type Host, isReady } from "./schema.ts";
import { listHosts, listTaken } from "./store.ts";

type Availability = OutputOf<typeof rows.kubernetesGpuAvailability>;
type NodeInfo = OutputOf<typeof rows.kubernetesNodeInfo>["node_info_dict"][string];

/** Accelerators of pools and of Kubernetes, and how many of them are free; places without any are left out. */
export async function availability(
  ctx: Context,
  input: InputOf<typeof rows.kubernetesGpuAvailability>,
  { signal }: Call,
): Promise<Availability> {
  const { context, is_ssh: isSsh } = input;
  const pool = context?.replace(contextPrefix, "");
  const hosts = isSsh === false ? [] : await hostsOf(ctx, pool);
  const pods = isSsh === true ? [] : await machinesOf(ctx, context, signal);
  return [...hosts, ...pods].flatMap(([place, nodes]) => {
    const rows = rowsOf(nodes, input);
    return rows.length === 0 ? [] : [[place, rows] as Availability[number]];
  });
}

/** The nodes of a context, or the hosts of a pool that have been looked at. */
export async function nodeInfo(
  ctx: Context,
  { context }: InputOf<typeof rows.kubernetesNodeInfo>,
  { signal }: Call,
): Promise<OutputOf<typeof rows.kubernetesNodeInfo>> {
  const isPool = context?.startsWith(contextPrefix) === true;
  const found = isPool
    ? await hostsOf(ctx, context.slice(contextPrefix.length))
    : await machinesOf(ctx, context, signal);
  const nodes = found.slice(0, 1).flatMap(([, own]) => own);
  return { node_info_dict: Object.fromEntries(nodes.map((node) => [node.name, node])), hint: "" };
}

type Places = [place: string, nodes: NodeInfo[]][];

async function hostsOf({ db }: Ground, pool: string | undefined): Promise<Places> {
  const taken = await listTaken(db);
  const hosts = (await listHosts(db, pool)).filter(({ facts }) => facts !== null);
  const pools = Map.groupBy(hosts, (host) => host.pool);
  return [...pools].map(([name, own]) => [
    contextOf(name),
    own.map((host) => toNodeInfo(host, isReady(host) && !taken.has(host.machine))),
  ]);
}

/** What providers tell of the machines of a context; of all contexts where none is named. */
const machinesOf = async (
  { providers }: Context,
  context: string | null,
  signal: AbortSignal,
): Promise<Places> =>
  (
    await Promise.all(
      providers
        .filter(({ name }) => name === "kubernetes")
        .map((one) => one.inspect?.(context, signal) ?? []),
    )
  ).flat();

/** The accelerators of these machines by kind: the counts that one may ask for, how many there are, how many free. */
export function rowsOf(
  nodes: readonly NodeInfo[],
  filters: { readonly name_filter: string | null; readonly quantity_filter: number | null },
): Availability[number][1] {
  const { name_filter: name, quantity_filter: least } = filters;
  const matching = nodes
    .filter(({ accelerator_type: kind }) => kind?.toLowerCase().includes(name?.toLowerCase() ?? ""))
    .filter(({ total }) => total.accelerator_count >= (least ?? 1));
  const kinds = Map.groupBy(matching, ({ accelerator_type: kind }) => kind ?? "");
  return [...kinds].map(([name, own]) => {
    const totals = own.map(({ total }) => total.accelerator_count);
    const counts = [...new Set(totals.flatMap(sharesOf))].sort((a, b) => a - b);
    const free = own.map(({ free }) => free.accelerators_available);
    return [name, counts, sum(totals), sum(free)];
  });
}

const sum = (counts: readonly number[]): number => counts.reduce((total, one) => total + one, 0);

/** How many a task may ask of a machine with so many: 1, 2, 4 and so on, and all. */
function sharesOf(count: number): number[] {
  const powers = Array.from({ length: 16 }, (_, power) => 2 ** power);
  return [...powers.filter((one) => one < count), count];
}

function toNodeInfo(host: Host, isFree: boolean): NodeInfo {
  const { facts, problem, isDraining, isDirty, deployedAt } = host;
  const { name = null, count = 0 } = facts?.accelerators ?? {};
  return {
    name: host.name,
    accelerator_type: name,
    total: { accelerator_count: count },
    free: { accelerators_available: isFree ? count : 0 },
    ip_address: facts?.address ?? null,
    cpu_count: facts?.cpus ?? null,
    memory_gb: facts?.memoryGb ?? null,
    // A cluster has a host for itself.
    cpu_free: isFree ? (facts?.cpus ?? null) : 0,
    memory_free_gb: isFree ? (facts?.memoryGb ?? null) : 0,
    is_ready: problem === null && deployedAt !== null && !isDirty,
    is_cordoned: isDraining,
    taints: [],
  };
}
