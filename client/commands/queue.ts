import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { ClusterJobRecord } from "../../contract/records/clusters.ts";
import { isPattern } from "../arguments.ts";
import type { OptionsOf } from "../catalog.ts";
import { jobForm } from "../output/jobs.ts";
import { ago, type Column, duration, styleOfStatus } from "../rendering.ts";
import { listClusters, requireAll } from "../selection.ts";
import type { World } from "../world.ts";
import { answerRows } from "./answers.ts";
import { watchable } from "./watch.ts";

export type QueueOptions = OptionsOf<"queue">;

type QueueRow = ClusterJobRecord & { readonly cluster: string };

/** `outrigger queue`. Jobs have no events. */
export const queue = watchable(null, showQueue);

async function showQueue(
  world: World,
  names: readonly string[],
  options: QueueOptions,
): Promise<undefined> {
  const client = await world.connect();
  const clusters = await clustersOf(world, names);
  const lists = await Promise.all(
    clusters.map(async (cluster): Promise<QueueRow[]> => {
      const jobs = await client.callAndGet(clusterOperations.queue, {
        cluster_name: cluster,
        skip_finished: options.skipFinished ?? false,
        all_users: Boolean(options.allUsers || options.everyone),
      });
      return jobs.slice(0, options.limit).map((job) => ({ cluster, ...job }));
    }),
  );
  for (const list of lists) await tellAge(world, list);
  answerRows(world, options, {
    form: jobForm,
    rows: lists.flat(),
    columns: columnsOf(world.now(), clusters.length > 1),
    empty: clusters.length === 0 ? "No cluster is up." : `No jobs on ${clusters.join(", ")}.`,
  });
  if (!world.json) for (const list of lists) tellWaits(world, list, clusters.length);
}

/** Says of a cluster that is away or stopped how old its list is. */
async function tellAge(world: World, [job]: readonly QueueRow[]): Promise<void> {
  const asOf = job?.metadata?.["as_of"];
  if (job === undefined || typeof asOf !== "string") return;
  const { cluster } = job;
  const clusters = await listClusters(await world.connect(), [cluster]);
  const found = clusters.find(({ name }) => name === cluster);
  const isStopped = found?.status === "STOPPED";
  world.terminal.note(
    `${cluster} ${isStopped ? "is STOPPED" : "does not respond"}: its jobs are as of ${asOf}.`,
  );
  if (isStopped) world.terminal.note(`Start it: outrigger start ${cluster}`);
}

const waitsAtMost = 5;

/** Says below the table what jobs wait for, the next one first. */
function tellWaits({ terminal }: World, jobs: readonly QueueRow[], clusters: number): void {
  const waiting = jobs.filter(({ status }) => status === "PENDING").toReversed();
  for (const { cluster, job_id: id, metadata } of waiting.slice(0, waitsAtMost))
    if (typeof metadata?.["reason"] === "string")
      terminal.note(`Job ${id}${clusters > 1 ? ` on ${cluster}` : ""} ${metadata["reason"]}`);
  if (waiting.length > waitsAtMost)
    terminal.note(`${waiting.length - waitsAtMost} more are waiting.`);
}

async function clustersOf(world: World, names: readonly string[]): Promise<string[]> {
  if (names.length > 0 && !names.some(isPattern)) return [...names];
  const found = await listClusters(await world.connect(), names);
  await requireAll(world, names, found);
  return found.filter(({ status }) => status === "UP").map(({ name }) => name);
}

function columnsOf(now: Date, several: boolean): Column<QueueRow>[] {
  const cluster: Column<QueueRow> = { title: "CLUSTER", text: (row) => row.cluster, least: 20 };
  return [
    ...(several ? [cluster] : []),
    { title: "ID", text: (row) => String(row.job_id), right: true },
    { title: "NAME", text: (row) => row.job_name || "-", least: 12 },
    { title: "STATUS", text: (row) => row.status, style: (row) => styleOfStatus(row.status) },
    { title: "SUBMITTED", text: (row) => ago(row.submitted_at, now), spare: true },
    { title: "DURATION", text: (row) => durationOf(row, now), right: true },
    { title: "RESOURCES", text: (row) => row.resources, least: 8, spare: true },
    { title: "USER", text: (row) => row.username, least: 8, spare: true },
  ];
}

function durationOf({ start_at, end_at }: QueueRow, now: Date): string {
  if (!start_at || start_at < 0) return "-";
  return duration((end_at || now.getTime() / 1_000) - start_at);
}
