import type { ReplicaInfo, ServiceStatusRecord } from "../../contract/records/services.ts";
import { workerPoolForm } from "../output/pools.ts";
import { listPools, pools } from "../pools.ts";
import { type Column, styleOfStatus } from "../rendering.ts";
import { requireAll, sayNone } from "../selection.ts";
import type { Run, World } from "../world.ts";
import { answerRows, type OutputOptions } from "./answers.ts";
import { readyOutOfLive, tellReasons } from "./serve-reasons.ts";
import { since, versionsOf } from "./serve-status.ts";
import { watch } from "./watch.ts";

interface StatusOptions extends OutputOptions {
  readonly verbose?: boolean;
  readonly watch?: boolean;
}

/** `outrigger jobs pool status`. */
export const poolStatus: Run<StatusOptions> = (world, names, options) =>
  options.watch
    ? watch(world, {}, (page) => showPools(page, names, options))
    : showPools(world, names, options);

async function showPools(
  world: World,
  names: readonly string[],
  options: StatusOptions,
): Promise<undefined> {
  const found = await listPools(await world.connect(), names);
  await requireAll(world, names, found, pools);
  const isWhole = options.verbose ?? false;
  const empty = sayNone(names, "No pools. Create one: outrigger jobs pool apply FILE", "pool");
  const shown = { isWhole, whole: "-v", empty } as const;
  const columns = poolColumns(world.now(), isWhole);
  answerRows(world, options, { form: workerPoolForm, rows: found, columns, ...shown });
  if (world.json) return;
  const rows = found.flatMap(workersOf);
  if (rows.length > 0) {
    world.terminal.answer("");
    const workers = workerColumns(world.now(), isWhole);
    answerRows(world, {}, { form: null, rows, columns: workers, ...shown });
  }
  const reasons = tellReasons(found);
  if (reasons.length > 0) world.terminal.answer(`\n${reasons.join("\n")}`);
}

type WorkerRow = ReplicaInfo & { readonly pool: string };

const workersOf = ({ name: pool, replica_info: workers }: ServiceStatusRecord): WorkerRow[] =>
  workers.toSorted((a, b) => a.replica_id - b.replica_id).map((worker) => ({ ...worker, pool }));

const jobsOf = ({ used_by: jobs = [] }: ReplicaInfo): string => jobs.join(", ") || "-";

function poolColumns(now: Date, isWhole: boolean): Column<ServiceStatusRecord>[] {
  const more: Column<ServiceStatusRecord>[] = [
    { title: "RESOURCES", text: (row) => row.requested_resources_str },
    { title: "WHY SO MANY", text: (row) => row.target_reason ?? "-" },
  ];
  return [
    { title: "NAME", text: (row) => row.name, least: 16 },
    { title: "VERSION", text: versionsOf, right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "WORKERS", text: (row) => readyOutOfLive(row), right: true },
    { title: "UPTIME", text: (row) => since(row.uptime, now), spare: true },
    ...(isWhole ? more : []),
  ];
}

function workerColumns(now: Date, isWhole: boolean): Column<WorkerRow>[] {
  return [
    { title: "POOL", text: (row) => row.pool, least: 16 },
    { title: "ID", text: (row) => String(row.replica_id), right: true },
    { title: "VERSION", text: (row) => String(row.version), right: true },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "JOBS", text: jobsOf },
    { title: "AGE", text: (row) => since(row.launched_at, now), spare: true },
    ...(isWhole ? [{ title: "CLUSTER", text: (row: WorkerRow) => row.name }] : []),
  ];
}
