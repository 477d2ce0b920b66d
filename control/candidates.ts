import { secondsOf } from "../contract/hooks.ts";
import type { Task } from "../contract/task.ts";
import { type CatalogMachine, completed } from "./clouds/catalog.ts";
import { isSameOffer, refusalOf } from "./clouds/schema.ts";
import type { AskedIn } from "./clusters/schema.ts";
import type { Context } from "./context.ts";
import { needOf } from "./needs.ts";
import { describeAsked } from "./offer-words.ts";
import type { Choice } from "./offers.ts";
import { meets, type Offer } from "./providers/provider.ts";

/** How people are shown what a task could run on: nothing is decided here. */

interface Candidate {
  readonly offer: Offer;
  /** Why it was chosen or passed over. */
  readonly why: string;
}

const shownAtMost = 12;
const outlooksAtMost = 4;

/** The machines that would do, as a table: the one that was chosen, and why each other one was not. */
export function candidatesTable(
  ctx: Context,
  asked: AskedIn,
  choice: Choice,
  outlooks: ReadonlyMap<Offer, string> = new Map(),
): string {
  const candidates = distinct(listCandidates(ctx, asked, choice)).map(({ offer, why }) => ({
    offer,
    why: [why, outlooks.get(offer)].filter(Boolean).join("; "),
  }));
  const more = candidates.length - shownAtMost;
  const rows = candidates.slice(0, shownAtMost).map((one) => rowOf(one, asked.nodes));
  const lines = rows.length === 0 ? [] : aligned([titles, ...rows]);
  const told = [
    ...lines.map((line) => `  ${line}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...choice.silent.map((why) => `  ${why}`),
  ];
  return [`Candidates for ${describeAsked(asked)}:`, ...(told[0] ? told : ["  none"]), ""].join(
    "\n",
  );
}

/** What providers say of the offers that are tried first; one that fails says nothing. */
export async function outlooksOf(
  { providers }: Context,
  { open }: Choice,
  { nodes, config, hooks = [] }: Task,
  signal: AbortSignal,
): Promise<Map<Offer, string>> {
  const machine = { slurm: config["slurm"], graceSeconds: secondsOf(hooks, "preemption") };
  const first = open.slice(0, outlooksAtMost).map(async (offer): Promise<[Offer, string]> => {
    const provider = providers.find(({ name }) => name === offer.provider);
    const said = provider?.outlook?.(offer, { nodes, machine }, signal);
    return [offer, (await said?.catch((error) => refusalOf(error)?.reason)) ?? ""];
  });
  return new Map(await Promise.all(first));
}

function listCandidates(ctx: Context, asked: AskedIn, choice: Choice): Candidate[] {
  const { chosen, open, refused, forbidden, dear } = choice;
  return [
    ...(chosen ? [{ offer: chosen, why: "chosen" }] : []),
    ...open.map((offer) => ({ offer, why: whyLater(offer, chosen, asked.nodes) })),
    ...refused.map(({ offer, why }) => ({ offer, why })),
    ...forbidden.map((offer) => ({ offer, why: `workspace ${asked.workspace} does not allow it` })),
    ...dear.map((offer) => ({ offer, why: "costs more than max_hourly_cost" })),
    ...elsewhere(ctx, asked),
  ];
}

/** The first of each offer: a task may ask for the same machine in several ways. */
const distinct = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(
    ({ offer }, at) => candidates.findIndex((one) => isSameOffer(one.offer, offer)) === at,
  );

function whyLater(offer: Offer, chosen: Offer | undefined, nodes: number): string {
  const more = (offer.dollarsPerHour - (chosen?.dollarsPerHour ?? 0)) * nodes;
  if (more > 0) return `costs $${more.toFixed(2)} more per hour`;
  return more === 0 ? "costs the same" : "listed later in the task";
}

/** What the catalog knows of clouds in which nothing can be created here: the cheapest machine of each. */
function elsewhere({ catalog, providers }: Context, asked: AskedIn): Candidate[] {
  const isHere = (cloud: string) => providers.some(({ name }) => name === cloud);
  const known = catalog();
  const foreign = known.machines.filter(({ cloud }) => !isHere(cloud));
  const offers = asked.resources.candidates
    .filter(({ accelerator }) => accelerator !== undefined)
    .flatMap((candidate) => {
      const { nodes: _, ...need } = needOf({ nodes: asked.nodes }, candidate);
      const all = foreign.flatMap((machine) => offerOf(machine, candidate.useSpot));
      return all.map((offer) => completed(known, offer)).filter((offer) => meets(offer, need));
    });
  const sorted = offers.sort((a, b) => a.dollarsPerHour - b.dollarsPerHour);
  const cheapest = new Map(sorted.toReversed().map((offer) => [offer.provider, offer]));
  return sorted
    .filter((offer) => cheapest.get(offer.provider) === offer)
    .map((offer) => ({ offer, why: `this control plane cannot launch on ${offer.provider}` }));
}

/** A machine of the catalog at its price, where it has one. */
function offerOf(machine: CatalogMachine, isSpot: boolean): Offer[] {
  const { cloud, region, instance_type: instanceType, accelerator: name, count } = machine;
  const dollarsPerHour = isSpot ? machine.spot : machine.on_demand;
  if (dollarsPerHour === null) return [];
  const isAnywhere = region === "*";
  return [
    {
      ...{ provider: cloud, instanceType, zone: null, dollarsPerHour },
      infra: isAnywhere ? cloud : `${cloud}/${region}`,
      region: isAnywhere ? null : region,
      cpus: machine.cpus ?? 0,
      memoryGb: machine.memory_gb ?? 0,
      accelerators: name === null ? null : { name, count },
    },
  ];
}

const titles = ["INFRA", "MACHINE", "GPUS", "CPUS", "MEMORY", "$/HOUR", ""];

function rowOf({ offer, why }: Candidate, nodes: number): string[] {
  const { infra, instanceType, accelerators, cpus, memoryGb, dollarsPerHour, isSpot } = offer;
  return [
    infra,
    isSpot ? `${instanceType} (spot)` : instanceType,
    accelerators === null ? "-" : `${accelerators.name}:${accelerators.count}`,
    cpus === 0 ? "-" : `${cpus}`,
    memoryGb === 0 ? "-" : `${memoryGb} GB`,
    (dollarsPerHour * nodes).toFixed(2),
    why,
  ];
}

/** Lines whose columns stand below one another. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = titles.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
