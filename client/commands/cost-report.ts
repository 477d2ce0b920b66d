import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { CostReportRecord } from "../../contract/records/clusters.ts";
import { costForm } from "../output/clusters.ts";
import { ago, type Column, duration, styleOfStatus } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";

interface CostOptions extends OutputOptions {
  readonly days?: number;
  readonly all?: boolean;
}

const usualDays = 30;

/** `outrigger cost-report`. */
export async function costReport(
  world: World,
  _operands: readonly string[],
  options: CostOptions,
): Promise<undefined> {
  const client = await world.connect();
  const days = options.all ? null : (options.days ?? usualDays);
  const rows = await client.callAndGet(clusterOperations.costReport, { days });
  const empty = "No clusters in that time.";
  answerRows(world, options, { form: costForm, rows, columns: columnsOf(world.now()), empty });
  if (world.json || rows.length === 0) return;
  const total = rows.reduce((sum, row) => sum + (row.total_cost ?? 0), 0);
  world.terminal.note(`Together ${dollars(total)}, estimated.`);
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
