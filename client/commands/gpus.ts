import type { OutputOf } from "../../common/operation.ts";
import { cloudOperations } from "../../contract/operations/clouds.ts";
import type { Command } from "../catalog.ts";
import { machineForm } from "../output/control.ts";
import type { Column } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

type Machine = OutputOf<typeof cloudOperations.listAccelerators>[string][number];

/** `outrigger gpus list`: every accelerator with its counts, or the machines that have one. */
export const list: Command<"gpus list"> = async (world, [accelerator], options) => {
  const [cloud = null, region] = options.infra?.toLowerCase().split("/") ?? [];
  const [name = "", count] = accelerator?.split(":") ?? [];
  const client = await world.connect();
  const found = await client.callAndGet(cloudOperations.listAccelerators, {
    gpus_only: false,
    name_filter: name === "" ? null : `^${name.replaceAll(/[^\w]/g, "\\$&")}`,
    quantity_filter: count === undefined ? null : Number(count),
    region_filter: region === undefined ? null : `^(${region.replaceAll(/[^\w]/g, "\\$&")}|\\*)$`,
    clouds: cloud,
    all_regions: options.allRegions ?? false,
    case_sensitive: false,
  });
  const rows = Object.values(found).flat();
  const empty = "No machine has such accelerators; outrigger gpus list shows what there is.";
  if (accelerator === undefined && !world.json) answerCounts(world, options, rows, empty);
  else answerRows(world, options, { form: machineForm, rows, columns, empty });
  if (world.json) return;
  const enabled = await client.callAndGet(cloudOperations.enabledClouds, { expand: "true" });
  world.terminal.note(
    `You can launch on ${enabled.join(", ") || "nothing yet"}. Other rows show prices only.`,
  );
};

function answerCounts(
  world: World,
  options: OutputOptions,
  machines: readonly Machine[],
  empty: string,
): undefined {
  const byName = Map.groupBy(machines, (machine) => machine[2]);
  const rows = [...byName].sort(([a], [b]) => a.localeCompare(b));
  answerRows(world, options, { form: null, rows, columns: countColumns, empty });
}

const countColumns: Column<[string, Machine[]]>[] = [
  { title: "GPU", text: ([name]) => name },
  { title: "MEMORY", text: ([, [first]]) => gigabytes(first?.[5] ?? null), right: true },
  { title: "COUNTS", text: ([, all]) => sorted(all.map((one) => one[3])).join(", ") },
  {
    title: "FROM $/HOUR",
    text: ([, all]) => dollars(sorted(all.flatMap(pricesOf))[0]),
    right: true,
  },
  { title: "INFRA", text: ([, all]) => [...new Set(all.map(([cloud]) => cloud))].join(", ") },
];

const columns: Column<Machine>[] = [
  { title: "GPU", text: (row) => `${row[2]}:${row[3]}` },
  { title: "MEMORY", text: (row) => gigabytes(row[5]), right: true },
  { title: "INFRA", text: (row) => (row[9] === "*" ? row[0] : `${row[0]}/${row[9]}`) },
  { title: "MACHINE", text: (row) => row[1] ?? "-", least: 12 },
  { title: "CPUS", text: (row) => `${row[4] ?? "-"}`, right: true },
  { title: "HOST MEMORY", text: (row) => gigabytes(row[6]), right: true, spare: true },
  { title: "$/HOUR", text: (row) => dollars(row[7]), right: true },
  { title: "SPOT", text: (row) => dollars(row[8]), right: true },
];

const pricesOf = (row: Machine): number[] => [row[7], row[8]].filter((price) => price !== null);
const sorted = (numbers: readonly number[]) => [...new Set(numbers)].sort((a, b) => a - b);
const gigabytes = (size: number | null) => (size === null ? "-" : `${size} GB`);
const dollars = (price: number | null | undefined) => (price == null ? "-" : price.toFixed(2));
