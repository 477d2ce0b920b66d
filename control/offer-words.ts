import { count } from "../common/count.ts";
import type { Accelerator } from "../contract/task/accelerators.ts";
import type { ResourceRequest } from "../contract/task/resource-request.ts";
import type { Resources } from "../contract/task/resources.ts";
import type { Asked, Cluster } from "./clusters/schema.ts";
import type { Offer } from "./providers/provider.ts";

/** How machines, and what is asked of them, are told to people. */

/** Where a candidate is to be: `ssh/lab`; undefined is anywhere. */
export function infraOf({ cloud, region, zone }: ResourceRequest): string | undefined {
  const parts = [cloud, region, zone].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("/");
}

/** What a task asks of each node in a few words: `H100:8, 4+ CPUs`. */
export const describeNeeds = ({ candidates }: Pick<Resources, "candidates">): string =>
  candidates.map(describe).join(" or ");

/** The same of all nodes together: `2 nodes with H100:8`. */
export function describeAsked({ resources, nodes }: Pick<Asked, "resources" | "nodes">): string {
  const needs = describeNeeds(resources);
  if (nodes === 1) return needs;
  return `${nodes} nodes${needs === anyMachine ? "" : ` with ${needs}`}`;
}

const anyMachine = "any machine";

function describe(candidate: ResourceRequest): string {
  const { cpus, memory, accelerator, image, maxDollarsPerHour: limit } = candidate;
  const infra = infraOf(candidate);
  const parts = [
    accelerator && `${kindOf(accelerator)}:${accelerator.count}`,
    cpus && `${cpus.count}${cpus.orMore ? "+" : ""} ${cpus.count === 1 ? "CPU" : "CPUs"}`,
    memory && `${memory.gb}${memory.orMore ? "+" : ""} GB of memory`,
    infra && `infra ${infra}`,
    image?.kind === "container" && "containers",
    limit !== undefined && `at most $${limit} an hour`,
  ];
  return parts.filter(Boolean).join(", ") || anyMachine;
}

/** `H100`; `nvidia:24GB+` for any kind with so much memory. */
function kindOf(accelerator: Accelerator): string {
  if ("name" in accelerator) return accelerator.name;
  const { manufacturer, gb, orMore } = accelerator;
  return `${manufacturer ? `${manufacturer}:` : ""}${gb}GB${orMore ? "+" : ""}`;
}

/** A machine in a few words: `local (2 CPUs, 24 GB)`. */
export function describeOffer({ infra, cpus, memoryGb, accelerators, isSpot }: Offer): string {
  const gpus = accelerators === null ? [] : [`${accelerators.name}:${accelerators.count}`];
  const spot = isSpot ? ["spot"] : [];
  return `${infra} (${[...gpus, count(cpus, "CPU"), `${memoryGb} GB`, ...spot].join(", ")})`;
}

/** The machines of a cluster in a few words: `2 nodes on local (2 CPUs, 24 GB)`. */
export const describeMachines = ({ nodes, offer }: Pick<Cluster, "nodes" | "offer">): string =>
  `${count(nodes, "node")} on ${describeOffer(offer)}`;
