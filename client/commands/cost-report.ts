import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { CostReportRecord } from "../../contract/records/clusters.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { type CostGroup, costForm, costGroupForm } from "../output/clusters.ts";
import { ago, type Column, duration, styleOfStatus } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows } from "./answers.ts";

const usualDays = 30;

/** `outrigger cost-report`. */
export const costReport: Command<"cost-report"> = async (world, _operands, options) => {
  const client = await world.connect();
  const days = options.all ? null : (options.days ?? usualDays);
  const rows = await client.callAndGet(clusterOperations.costReport, { days });
  const empty = "No clusters in that period.";
  if (options.by === undefined)
    answerRows(world, options, { form: costForm, rows, columns: columnsOf(world.now()), empty });
  else answerGroups(world, options, groupsOf(rows, options.by), empty);
  if (world.json || rows.length === 0) return;
  const total = rows.reduce((sum, row) => sum + (row.total_cost ?? 0), 0);
  world.terminal.note(`Together ${dollars(total)}, estimated.`);
};

/** The clusters of each group together, the dearest group first. */
function groupsOf(rows: readonly CostReportRecord[], by: string): CostGroup[] {
  const label = by.slice("label:".length);
  const groupIn = (row: CostReportRecord): string | null => {
    if (by === "user") return row.user_name;
    return by === "workspace" ? row.workspace : (row.labels[label] ?? null);
  };
  const groups = [...Map.groupBy(rows, groupIn)].map(([group, own]) => ({
    ...{ group, clusters: own.length },
    node_seconds: own.reduce((sum, row) => sum + row.duration * row.num_nodes, 0),
    cost_usd: own.reduce((sum, row) => sum + (row.total_cost ?? 0), 0),
  }));
  return groups.sort((a, b) => b.cost_usd - a.cost_usd || b.node_seconds - a.node_seconds);
}

function answerGroups(
  world: World,
  options: OptionsOf<"cost-report">,
  rows: readonly CostGroup[],
  empty: string,
): void {
  const columns: Column<CostGroup>[] = [
    { title: options.by?.toUpperCase() ?? "", text: ({ group }) => group ?? "-", least: 20 },
    { title: "CLUSTERS", text: ({ clusters }) => String(clusters), right: true },
    { title: "NODE TIME", text: ({ node_seconds: seconds }) => duration(seconds), right: true },
    { title: "COST", text: ({ cost_usd: cost }) => dollars(cost), right: true },
  ];
  answerRows(world, options, { form: costGroupForm, rows, columns, empty });
}

function columnsOf(now: Date): Column<CostReportRecord>[] {
  const status = (row: CostReportRecord) => row.status ?? "TERMINATED";
  return [
    { title: "NAME", text: (row) => row.name, least: 20 },
    { title: "STATUS", text: status, style: (row) => styleOfStatus(status(row)) },
    { title: "RESOURCES", text: (row) => row.resources_str, least: 12, spare: true },
    { title: "LAUNCHED", text: (row) => ago(row.launched_at, now), spare: true },
    { title: "UP FOR", text: (row) => duration(row.duration), right: true },
    { title: "COST", text: (row) => dollars(row.total_cost), right: true },
    { title: "USER", text: (row) => row.user_name ?? "-", least: 8, spare: true },
  ];
}

const dollars = (amount: number | undefined) =>
  amount === undefined ? "-" : `$${amount.toFixed(2)}`;
