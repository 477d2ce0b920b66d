import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { readNamed } from "../../common/files.ts";
import type { Offer } from "../providers/provider.ts";

/** Where a figure stands, and when it was read. */
const evidence = { source: z.string().min(1), date: z.iso.date() };
const dollars = z.number().min(0).nullable().default(null);
const size = z.number().positive().nullable().default(null);

const Accelerator = z.strictObject({
  name: z.string().min(1),
  manufacturer: z.string().min(1),
  kind: z.enum(["gpu", "other"]).default("gpu"),
  memory_gb: z.number().positive(),
  ...evidence,
});

/** A machine type of a cloud; its prices are for an hour of the whole machine. */
const Machine = z.strictObject({
  cloud: z.string().regex(/^[a-z][\w-]*$/, "must be the name of a cloud in lower case"),
  region: z.string().min(1).default("*"),
  instance_type: z.string().min(1),
  accelerator: z.string().min(1).nullable().default(null),
  count: z.number().min(0).default(0),
  cpus: size,
  memory_gb: size,
  on_demand: dollars,
  spot: dollars,
  ...evidence,
});

/** What an hour of a node costs where its provider does not say: `ssh/lab`. */
const Price = z.strictObject({
  infra: z.string().min(1),
  dollars_per_hour: z.number().min(0),
  ...evidence,
});

/** A file of a catalog. */
export const CatalogFile = z.strictObject({
  accelerators: z.array(Accelerator).default([]),
  machines: z.array(Machine).default([]),
  prices: z.array(Price).default([]),
});
type CatalogFile = z.output<typeof CatalogFile>;

export type CatalogAccelerator = z.output<typeof Accelerator>;
export type CatalogMachine = z.output<typeof Machine>;

/** Accelerators, machines of clouds and prices: what we ship, and what this control plane's own files say instead. */
export interface Catalog {
  readonly accelerators: readonly CatalogAccelerator[];
  readonly machines: readonly CatalogMachine[];
  readonly prices: readonly z.output<typeof Price>[];
  /** Own files that are left out, and why: `ours.yaml: machines.0.source: ...`. */
  readonly problems: readonly string[];
}

/** The catalog as it is now: own files are read again once they have changed. */
export type CatalogNow = () => Catalog;

const shippedFolder = join(import.meta.dirname, "catalog");
let shippedFiles: readonly CatalogFile[] | undefined;

/** What we ship, read once: it stays as it is while this process runs. */
function shipped(): readonly CatalogFile[] {
  shippedFiles ??= filesIn(shippedFolder).map(({ path }) => CatalogFile.parse(contentOf(path)));
  return shippedFiles;
}

/** Opens the catalog, whose own files lie in a folder that need not exist; `warn` hears of those that are left out. */
export function openCatalog(ownFolder: string, warn: (problem: string) => void): CatalogNow {
  let seen: string | undefined;
  let catalog: Catalog;
  return () => {
    const files = filesIn(ownFolder);
    const state = files.map(({ path, mtimeMs, size }) => `${path} ${mtimeMs} ${size}`).join("\n");
    if (state === seen) return catalog;
    const own = files.map(({ name, path }) => readOwn(name, path));
    catalog = merged(shipped(), own);
    seen = state;
    catalog.problems.forEach(warn);
    return catalog;
  };
}

function filesIn(folder: string) {
  const names = existsSync(folder) ? readdirSync(folder).sort() : [];
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .flatMap((name) => {
      const path = join(folder, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ name, path, mtimeMs: stats.mtimeMs, size: stats.size }];
    });
}

const mostBytes = 16 * 2 ** 20;
const contentOf = (path: string): unknown => parse(readNamed(path, { mostBytes }).toString()) ?? {};

/** What an own file says, or why it is left out. */
function readOwn(name: string, path: string): CatalogFile | string {
  try {
    const { success, data, error } = CatalogFile.safeParse(contentOf(path));
    if (success) return data;
    const [issue] = error.issues;
    return `${name}: ${issue?.path.join(".")}: ${issue?.message}`;
  } catch (error) {
    return `${name}: ${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
}

/** Of rows about the same thing the last one counts. */
function merged(shipped: readonly CatalogFile[], own: readonly (CatalogFile | string)[]): Catalog {
  const files = [...shipped, ...own.filter((file) => typeof file !== "string")];
  return {
    accelerators: lastOf(
      files.flatMap((file) => file.accelerators),
      ({ name }) => name.toLowerCase(),
    ),
    machines: lastOf(
      files.flatMap((file) => file.machines),
      ({ cloud, region, instance_type: type }) => JSON.stringify([cloud, region, type]),
    ),
    prices: lastOf(
      files.flatMap((file) => file.prices),
      ({ infra }) => infra,
    ),
    problems: own.filter((file) => typeof file === "string"),
  };
}

const lastOf = <Row>(rows: readonly Row[], keyOf: (row: Row) => string): Row[] => [
  ...new Map(rows.map((row) => [keyOf(row), row])).values(),
];

/** An accelerator of this name, in any letter case; undefined when the catalog has none. */
export const acceleratorOf = (
  { accelerators }: Catalog,
  name: string,
): CatalogAccelerator | undefined =>
  accelerators.find((one) => one.name.toLowerCase() === name.toLowerCase());

/** An offer with what the catalog knows of it: the memory of its accelerators, and an own price. */
export function completed(catalog: Catalog, offer: Offer): Offer {
  const { accelerators: given, infra } = offer;
  const known = given && acceleratorOf(catalog, given.name);
  const price = catalog.prices.find((one) => one.infra === infra);
  return {
    ...offer,
    ...(known && {
      accelerators: { ...given, memoryGb: known.memory_gb, manufacturer: known.manufacturer },
    }),
    ...(price && { dollarsPerHour: price.dollars_per_hour }),
  };
}
