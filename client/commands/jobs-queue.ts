import { jobOperations } from "../../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../../contract/records/jobs.ts";
import { nameOf } from "../managed-jobs.ts";
import { managedJobForm } from "../output/managed-jobs.ts";
import { ago, type Column, duration, styleOfStatus } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerRows } from "./answers.ts";
import type { QueueOptions } from "./queue.ts";
import { watchable } from "./watch.ts";

const usualLimit = 50;

/** `outrigger jobs queue`. */
export const jobsQueue = watchable({ noun: "managed_job" }, showQueue);

async function showQueue(
  world: World,
  _words: readonly string[],
  options: QueueOptions,
): Promise<undefined> {
  const client = await world.connect();
  const { jobs, total } = await client.callAndGet(jobOperations.queueV2, {
    skip_finished: options.skipFinished ?? false,
    all_users: Boolean(options.allUsers || options.everyone),
    ...{ page: 1, limit: options.limit ?? usualLimit },
  });
  answerRows(world, options, {
    ...{ form: managedJobForm, rows: jobs, columns: columnsOf(world.now()) },
    empty: "No managed jobs. Launch one: outrigger jobs launch FILE",
  });
  if (world.json) return;
  for (const job of jobs.filter(isWaiting)) {
    const of = job.execution === null ? `${job.job_id}` : `${job.job_id} (${job.task_name})`;
    world.terminal.note(`Job ${of} is ${job.status}: ${job.details}`);
  }
  if (total > jobs.length)
    world.terminal.note(`The newest ${jobs.length} of ${total}; --limit shows more.`);
}

const isWaiting = ({ status, details }: ManagedJobRecord): boolean =>
  details !== null && (status !== "RUNNING" || /waits/.test(details));

function columnsOf(now: Date): Column<ManagedJobRecord>[] {
  return [
    { title: "ID", text: (row) => String(row.job_id), right: true },
    { title: "NAME", text: nameOf, least: 12 },
    {
      title: "STATUS",
      text: (row) => row.status ?? "-",
      style: (row) => styleOfStatus(row.status ?? ""),
    },
    { title: "SUBMITTED", text: (row) => ago(row.submitted_at, now), spare: true },
    { title: "DURATION", text: (row) => duration(row.start_at && row.job_duration), right: true },
    { title: "RECOVERIES", text: (row) => String(row.recovery_count), right: true },
    { title: "INFRA", text: (row) => row.infra ?? "-", least: 8, spare: true },
    { title: "RESOURCES", text: (row) => row.resources ?? "-", least: 8, spare: true },
    { title: "USER", text: (row) => row.user_name ?? "-", least: 8, spare: true },
  ];
}
