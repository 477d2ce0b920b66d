import type { InputOf, OutputOf } from "../../common/operation.ts";
import type { kubernetesOperations as rows } from "../../contract/operations/kubernetes.ts";
import type { Ground } from "../ground.ts";
import { contextOf, contextPrefix, type Host, isReady } from "./schema.ts";
import { listHosts, listTaken } from "./store.ts";

type Availability = OutputOf<typeof rows.kubernetesGpuAvailability>;
type NodeInfo = OutputOf<typeof rows.kubernetesNodeInfo>["node_info_dict"][string];

/** A host, its accelerators, and whether a cluster could have it now. */
interface Counted {
  readonly host: Host;
  readonly name: string | null;
  readonly count: number;
  readonly isFree: boolean;
}

/** Accelerators of pools, and how many of them are nobody's; pools without any are left out. */
export async function availability(
  ctx: Ground,
  input: InputOf<typeof rows.kubernetesGpuAvailability>,
): Promise<Availability> {
  if (input.is_ssh === false) return [];
  const { context, name_filter: filter, quantity_filter: least } = input;
  const pool = context?.replace(contextPrefix, "");
  const hosts = (await countHosts(ctx, pool))
    .filter(({ name }) => name !== null && fits(name, filter))
    .filter(({ count }) => count >= (least ?? 1));
  const pools = Map.groupBy(hosts, ({ host }) => host.pool);
  return [...pools].map(([name, own]) => [contextOf(name), rowsOf(own)]);
}

/** The hosts of a pool that have been looked at; there are no other contexts. */
export async function nodeInfo(
  ctx: Ground,
  { context }: InputOf<typeof rows.kubernetesNodeInfo>,
): Promise<OutputOf<typeof rows.kubernetesNodeInfo>> {
  const isPool = context?.startsWith(contextPrefix) === true;
  const hosts = isPool ? await countHosts(ctx, context.slice(contextPrefix.length)) : [];
  const entries = hosts.map((counted) => [counted.host.name, toNodeInfo(counted)]);
  return { node_info_dict: Object.fromEntries(entries), hint: "" };
}

async function countHosts({ db }: Ground, pool: string | undefined): Promise<Counted[]> {
  const taken = await listTaken(db);
  const hosts = (await listHosts(db, pool)).filter(({ facts }) => facts !== null);
  return hosts.map((host) => {
    const { name = null, count = 0 } = host.facts?.accelerators ?? {};
    return { host, name, count, isFree: isReady(host) && !taken.has(host.machine) };
  });
}

function fits(name: string, filter: string | null): boolean {
  return filter === null || name.toLowerCase().includes(filter.toLowerCase());
}

function rowsOf(hosts: readonly Counted[]): Availability[number][1] {
  const kinds = Map.groupBy(hosts, ({ name }) => name ?? "");
  return [...kinds].map(([name, own]) => {
    const sum = (of: (host: Counted) => number) => own.reduce((total, one) => total + of(one), 0);
    const counts = [...new Set(own.flatMap(({ count }) => sharesOf(count)))].sort((a, b) => a - b);
    const free = sum(({ count, isFree }) => (isFree ? count : 0));
    return [name, counts, sum(({ count }) => count), free];
  });
}

/** How many a task may ask of a machine with so many: 1, 2, 4 and so on, and all. */
function sharesOf(count: number): number[] {
  const powers = Array.from({ length: 16 }, (_, power) => 2 ** power);
  return [...powers.filter((one) => one < count), count];
}

function toNodeInfo({ host, name, count, isFree }: Counted): NodeInfo {
  const { facts, problem, isDraining, isDirty, deployedAt } = host;
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
