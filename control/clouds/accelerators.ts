import type { InputOf, OutputOf } from "../../common/operation.ts";
import type { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import type { Call } from "../bind.ts";
import { collectOffers } from "../collect-offers.ts";
import type { Context } from "../context.ts";
import type { Need, Offer } from "../providers/provider.ts";
import { acceleratorOf, type Catalog, type CatalogMachine } from "./catalog.ts";
import { namesWith } from "./name-pattern.ts";

type ListInput = InputOf<typeof rows.listAccelerators>;
type CountsInput = InputOf<typeof rows.listAcceleratorCounts>;
type MachineRow = OutputOf<typeof rows.listAccelerators>[string][number];

/** A machine of the catalog, or offered now. */
type Machine = Omit<CatalogMachine, "source" | "date">;
type WithAccelerators = Machine & { readonly accelerator: string };

/** Machines with accelerators by the name of these, cheapest first. */
export async function listAccelerators(ctx: Context, input: ListInput, call: Call) {
  const machines = await machinesOf(ctx, input, call);
  const priced = input.require_price ? machines.filter((one) => priceOf(one) < noPrice) : machines;
  const sorted = priced.sort((a, b) => priceOf(a) - priceOf(b) || a.count - b.count);
  const shown = input.all_regions ? sorted : firstOfEach(sorted, typeOf);
  const catalog = ctx.catalog();
  return grouped(shown, (machine) => rowOf(catalog, machine));
}

/** How many of each accelerator a machine can have, ascending. */
export async function listCounts(ctx: Context, input: CountsInput, call: Call) {
  const machines = await machinesOf(ctx, { ...input, case_sensitive: true }, call);
  const counts = grouped(machines, ({ count }) => count);
  return Object.fromEntries(
    Object.entries(counts).map(([name, all]) => [name, [...new Set(all)].sort((a, b) => a - b)]),
  );
}

type Filter = CountsInput & Pick<ListInput, "case_sensitive">;

/** Throws `ValueError` for a pattern that is none, or takes too long. */
async function machinesOf(ctx: Context, filter: Filter, call: Call): Promise<WithAccelerators[]> {
  const { clouds, quantity_filter: count, gpus_only: gpusOnly } = filter;
  const catalog = ctx.catalog();
  const wanted = clouds === null ? undefined : [clouds].flat().map((name) => name.toLowerCase());
  const machines = [...(await offered(ctx, call)), ...catalog.machines].filter(
    (machine): machine is WithAccelerators =>
      machine.accelerator !== null &&
      (wanted?.includes(machine.cloud) ?? true) &&
      (count === null || machine.count === count) &&
      !(gpusOnly && acceleratorOf(catalog, machine.accelerator)?.kind === "other"),
  );
  const flags = filter.case_sensitive ? "" : "i";
  const names = matching(
    machines,
    "name_filter",
    filter.name_filter,
    flags,
    (one) => one.accelerator,
  );
  return matching(names, "region_filter", filter.region_filter, flags, (one) => one.region);
}

function matching<Row>(
  rows: Row[],
  field: string,
  pattern: string | null,
  flags: "" | "i",
  textOf: (row: Row) => string,
): Row[] {
  if (pattern === null) return rows;
  const found = new Set(namesWith(field, pattern, [...new Set(rows.map(textOf))], flags));
  return rows.filter((row) => found.has(textOf(row)));
}

/** What providers offer now, on demand and as spot; those that do not answer are left out, and named. */
async function offered(ctx: Context, call: Call): Promise<Machine[]> {
  const ask = (need: Need) => collectOffers(ctx.catalog(), ctx.providers, need, call.signal);
  const [onDemand, spot] = await Promise.all([ask({}), ask({ isSpot: true })]);
  for (const why of onDemand.silent) call.print(`${why}\n`);
  const spots = spot.offers.map(machineOf);
  const spotOf = new Map(spots.map((machine) => [keyOf(machine), machine.spot]));
  const machines = onDemand.offers
    .map(machineOf)
    .map((machine) => ({ ...machine, spot: spotOf.get(keyOf(machine)) ?? null }));
  return firstOfEach([...machines, ...spots], keyOf);
}

const machineOf = ({ provider, region, instanceType, accelerators, ...offer }: Offer): Machine => ({
  cloud: provider,
  region: region ?? "*",
  instance_type: instanceType,
  accelerator: accelerators?.name ?? null,
  count: accelerators?.count ?? 0,
  cpus: offer.cpus,
  memory_gb: offer.memoryGb,
  ...(offer.isSpot
    ? { on_demand: null, spot: offer.dollarsPerHour }
    : { on_demand: offer.dollarsPerHour, spot: null }),
});

const noPrice = Number.POSITIVE_INFINITY;
const priceOf = (machine: Machine): number => machine.on_demand ?? machine.spot ?? noPrice;

const typeOf = ({ cloud, instance_type: type, accelerator }: Machine): string =>
  JSON.stringify([cloud, type, accelerator]);
const keyOf = (machine: Machine): string => `${typeOf(machine)}${machine.region}`;

function firstOfEach<Row>(rows: readonly Row[], of: (row: Row) => string): Row[] {
  const first = new Map(rows.toReversed().map((row) => [of(row), row]));
  return rows.filter((row) => first.get(of(row)) === row);
}

function grouped<T>(
  machines: readonly WithAccelerators[],
  of: (machine: WithAccelerators) => T,
): Record<string, T[]> {
  const byName = Map.groupBy(machines, ({ accelerator }) => accelerator);
  return Object.fromEntries([...byName].map(([name, all]) => [name, all.map(of)]));
}

const rowOf = (catalog: Catalog, machine: WithAccelerators): MachineRow => [
  machine.cloud,
  machine.instance_type,
  machine.accelerator,
  machine.count,
  machine.cpus,
  acceleratorOf(catalog, machine.accelerator)?.memory_gb ?? null,
  machine.memory_gb,
  machine.on_demand,
  machine.spot,
  machine.region,
];
