import type { MachineNow } from "../provider.ts";
import { acceleratorResources, capacityOf, isReady } from "./nodes.ts";
import { amountOf, type KubeNode, type Pod } from "./objects.ts";

/** What nodes have, and what is left of that beside the requests of pods. Pure. */

const gibibyte = 2 ** 30;

/** `pods` undefined: we may not list those of others, so that nobody knows what is free. */
export function machinesOf(
  nodes: readonly KubeNode[],
  pods: readonly Pod[] | undefined,
): MachineNow[] {
  const byNode = Map.groupBy(pods ?? [], ({ spec }) => spec.nodeName ?? "");
  return nodes.map((node) => {
    const { name } = node.metadata;
    const used = (resource: string) => requested(byNode.get(name) ?? [], resource);
    const { cpus, memoryGb, accelerators } = capacityOf(node);
    const count = accelerators?.count ?? 0;
    const left = (has: number, resource: string) =>
      pods === undefined ? null : Math.max(0, has - used(resource));
    const free = left(count, accelerators?.resource ?? acceleratorResources[0]);
    const freeBytes = left(memoryGb * gibibyte, "memory");
    const addresses = node.status.addresses ?? [];
    const address = ["ExternalIP", "InternalIP"]
      .map((type) => addresses.find((one) => one.type === type)?.address)
      .find((one) => one !== undefined);
    return {
      name,
      accelerator_type: accelerators?.name ?? null,
      total: { accelerator_count: count },
      free: { accelerators_available: free ?? -1 },
      ip_address: address ?? null,
      cpu_count: cpus,
      memory_gb: memoryGb,
      cpu_free: left(cpus, "cpu"),
      memory_free_gb: freeBytes === null ? null : freeBytes / gibibyte,
      is_ready: isReady(node),
      is_cordoned: node.spec.unschedulable === true,
      taints: (node.spec.taints ?? []).map(({ key, value = null, effect }) => ({
        key,
        value,
        effect,
      })),
    };
  });
}

const requested = (pods: readonly Pod[], resource: string): number =>
  pods
    .flatMap(({ spec }) => spec.containers)
    .reduce((sum, { resources }) => sum + amountOf(resources?.requests?.[resource]), 0);
