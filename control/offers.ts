import { fail } from "../common/errors.ts";
import type { ResourceRequest } from "../contract/task/resource-request.ts";
import type { Resources } from "../contract/task/resources.ts";
import type { Cluster } from "./clusters/schema.ts";
import type { Context } from "./context.ts";
import { meets, type Need, type Offer } from "./providers/provider.ts";

/**
 * The machine to take for each node of a task: of the first candidate that can be had, or the
 * cheapest of all. Throws `ResourcesUnavailableError` saying what was asked and what there is.
 */
export async function chooseOffer(
  ctx: Context,
  resources: Resources,
  signal: AbortSignal,
): Promise<Offer> {
  const { candidates, choose } = resources;
  const offers = (
    await Promise.all(candidates.map((candidate) => offersOf(ctx, candidate, signal)))
  ).flat();
  const [first] = choose === "inOrder" ? offers : offers.sort(byPrice);
  if (first !== undefined) return first;
  const there = (await offersOf(ctx, undefined, signal)).map(describeOffer).join("; ");
  fail(
    "ResourcesUnavailableError",
    `nothing offers ${describeNeeds(resources)}; there is: ${there || "nothing at all"}`,
  );
}

const byPrice = (a: Offer, b: Offer): number => a.dollarsPerHour - b.dollarsPerHour;

async function offersOf(
  ctx: Context,
  candidate: ResourceRequest | undefined,
  signal: AbortSignal,
): Promise<Offer[]> {
  const need = candidate === undefined ? {} : needOf(candidate);
  if (need === undefined) return [];
  const all = await Promise.all(ctx.providers.map((provider) => provider.offers(need, signal)));
  return all.flat();
}

/** What a provider is asked for; undefined when no provider can tell, as with "16GB of any kind". */
function needOf(candidate: ResourceRequest): Need | undefined {
  const { cpus, memory, accelerator } = candidate;
  const infra = infraOf(candidate);
  if (accelerator !== undefined && !("name" in accelerator)) return undefined;
  return {
    ...(infra !== undefined && { infra }),
    ...(cpus && { cpus: { count: cpus.count, orMore: cpus.orMore } }),
    ...(memory && { memoryGb: { count: memory.gb, orMore: memory.orMore } }),
    ...(accelerator && { accelerators: { name: accelerator.name, count: accelerator.count } }),
  };
}

/** The first candidate of a task that machines of this offer satisfy; undefined when none is. */
export const candidateOf = ({ candidates }: Resources, offer: Offer): ResourceRequest | undefined =>
  candidates.find((candidate) => {
    const need = needOf(candidate);
    return need !== undefined && meets(offer, need);
  });

function infraOf({ cloud, region, zone }: ResourceRequest): string | undefined {
  const parts = [cloud, region, zone].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("/");
}

/** What a task asks of each node in a few words: `H100:8, 4+ CPUs`. */
export const describeNeeds = ({ candidates }: Resources): string =>
  candidates.map(describe).join(" or ");

function describe(candidate: ResourceRequest): string {
  const { cpus, memory, accelerator } = candidate;
  const infra = infraOf(candidate);
  const parts = [
    accelerator && ("name" in accelerator ? `${accelerator.name}:${accelerator.count}` : "GPUs"),
    cpus && `${cpus.count}${cpus.orMore ? "+" : ""} CPUs`,
    memory && `${memory.gb}${memory.orMore ? "+" : ""} GB of memory`,
    infra && `infra ${infra}`,
  ];
  return parts.filter(Boolean).join(", ") || "any machine";
}

/** A machine in a few words: `local (2 CPUs, 24 GB)`. */
export function describeOffer({ infra, cpus, memoryGb, accelerators }: Offer): string {
  const gpus = accelerators === null ? [] : [`${accelerators.name}:${accelerators.count}`];
  return `${infra} (${[...gpus, `${cpus} CPUs`, `${memoryGb} GB`].join(", ")})`;
}

/** The machines of a cluster in a few words: `2 nodes on local (2 CPUs, 24 GB)`. */
export const describeMachines = ({ nodes, offer }: Pick<Cluster, "nodes" | "offer">): string =>
  `${nodes} node${nodes === 1 ? "" : "s"} on ${describeOffer(offer)}`;
