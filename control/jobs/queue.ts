import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { jobOperations as rows } from "../../contract/operations/jobs.ts";
import {
  type ManagedJobQueuePage,
  type ManagedJobRecord,
  ManagedJobStatusName,
} from "../../contract/records/jobs.ts";
import { type ManagedJobStatus, managedJobMachine } from "../../contract/statuses.ts";
import { ownerShown } from "../access/identity.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { inPages } from "../db/lists.ts";
import type { Ground } from "../ground.ts";
import { withoutNulls } from "../wire/fields.ts";
import { type Counts, isEachAlone, readCounts, sumOf } from "./counts.ts";
import { countJobs, listPage } from "./list-store.ts";
import { chooseJobs, type Found, isSortable, sortNames } from "./queue-filter.ts";
import { openStatuses } from "./schema.ts";
import { listTasks } from "./store.ts";
import { openRecords } from "./view.ts";

type Input = InputOf<typeof rows.queueV2>;

/** Managed jobs as old clients know them, the newest first: only the keys that a task has. */
export async function queue(ctx: Context, input: InputOf<typeof rows.queue>, call: Call) {
  const { jobs } = await queueV2(ctx, rows.queueV2.input.body.parse(input), call);
  return jobs.map((record) => withoutNulls(record));
}

/** Managed jobs, filtered, sorted and page by page; the tasks of a job stand together. */
export async function queueV2(
  ctx: Context,
  input: Input,
  call: Call,
): Promise<ManagedJobQueuePage> {
  const { workspaces } = call;
  const whose = { userId: ownerShown(call, input.all_users), workspaces };
  const all = await readCounts(ctx.db, whose.userId, workspaces);
  const { ids, total, counts } = isPlain(input)
    ? await plainPage(ctx, input, whose, all)
    : await chooseJobs(ctx, input, whose, statusesOf(input), all);
  const jobs: ManagedJobRecord[] = [];
  const toRecord = openRecords(ctx, input.fields);
  for await (const page of inPages(ids)) {
    const tasks = Map.groupBy(await listTasks(ctx.db, page), ({ job }) => job.id);
    jobs.push(...(await toRecord(page.flatMap((id) => tasks.get(id) ?? []))));
  }
  return {
    ...{ jobs, total, total_no_filter: all.jobs },
    status_counts: Object.fromEntries(counts),
    infra_options: [...new Set(jobs.flatMap(({ infra }) => infra ?? []))],
  };
}

/** What the row's shapes cannot say. */
export function checkQueue({ page, limit, statuses, sort_by: sortBy }: Input): void {
  if (page !== null && limit === null) fail("ValueError", "page needs limit");
  if ((page ?? 1) < 1 || (limit ?? 1) < 1) fail("ValueError", "page and limit start at 1");
  const odd = statuses?.find((one) => !ManagedJobStatusName.safeParse(one).success);
  if (odd !== undefined) fail("ValueError", `${odd} is not a status of a managed job`);
  if (sortBy !== null && !isSortable(sortBy))
    fail(
      "ValueError",
      `sort_by: jobs cannot be sorted by ${sortBy}; expected one of ${sortNames.join(", ")}`,
    );
}

/** Whether counts and indexes know the answer. */
const isPlain = (input: Input): boolean =>
  [
    ...[input.job_ids, input.user_match, input.workspace_match, input.name_match],
    ...[input.pool_match, input.infra_match, input.submitted_after, input.submitted_before],
  ].every((filter) => filter === null) && ["job_id", "submitted_at", null].includes(input.sort_by);

/** Which statuses are wanted; null is any. */
function statusesOf({ statuses, skip_finished: skipFinished }: Input): ManagedJobStatus[] | null {
  if (statuses === null && !skipFinished) return null;
  const wanted = skipFinished ? openStatuses : managedJobMachine.names;
  return wanted.filter((one) => statuses?.includes(one) ?? true);
}

async function plainPage(
  ctx: Ground,
  input: Input,
  whose: Parameters<typeof chooseJobs>[2],
  counts: Counts,
): Promise<Found> {
  const { page, limit, sort_order } = input;
  const statuses = statusesOf(input);
  const shown = input.skip_finished
    ? new Map([...counts.tasks].filter(([status]) => openStatuses.includes(status)))
    : counts.tasks;
  const ids = await listPage(ctx.db, {
    ...{ ...whose, statuses, order: sort_order === "asc" ? "asc" : "desc" },
    ...{ limit: limit ?? -1, offset: ((page ?? 1) - 1) * (limit ?? 0) },
  });
  return { ids, total: await totalOf(ctx, whose, statuses, counts), counts: shown };
}

/** How many jobs have a task with one of these statuses. */
async function totalOf(
  ctx: Ground,
  whose: Parameters<typeof chooseJobs>[2],
  statuses: readonly ManagedJobStatus[] | null,
  counts: Counts,
): Promise<number> {
  if (statuses === null) return counts.jobs;
  if (!isEachAlone(counts)) return countJobs(ctx.db, { ...whose, statuses });
  return sumOf(statuses.map((status) => counts.tasks.get(status) ?? 0));
}
