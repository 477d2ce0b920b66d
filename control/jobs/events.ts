import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { ManagedJobEvent } from "../../contract/records/jobs.ts";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import { listPastOf } from "../clusters/list-store.ts";
import type { Context } from "../context.ts";
import { listEvents, type StoredEvent } from "../events.ts";
import type { Ground } from "../ground.ts";
import { clusterNameOf } from "./clusters.ts";
import { findTasks } from "./find.ts";
import type { JobTask } from "./schema.ts";

type Input = InputOf<typeof rows.events>;

const eventsAtMost = 10_000;
const kinds = ["moves", "remarks"] as const;

/** What happened, and the status that the task had after it. */
interface Happened extends Pick<StoredEvent, "reason" | "at"> {
  readonly task: JobTask;
  readonly status: ManagedJobStatus;
}

/** What happened to a job, newest first; nothing where there is no such job. */
export async function events(ctx: Context, input: Input, call: Call): Promise<ManagedJobEvent[]> {
  const { job_id, task_id, include_cluster_events: withClusters } = input;
  const named = { name: null, job_id, task: input.task ?? task_id };
  const limit = Math.min(Math.max(input.limit ?? eventsAtMost, 0), eventsAtMost);
  const found: Happened[] = [];
  for (const task of await findTasks(ctx, named, call)) {
    const own = await eventsOf(ctx, task, limit);
    const ofClusters = withClusters ? await clusterEventsOf(ctx, task, limit) : [];
    found.push(
      ...own,
      ...ofClusters.map((event) => ({ ...event, task, status: statusAt(own, event) })),
    );
  }
  return found
    .toSorted((one, other) => other.at.getTime() - one.at.getTime())
    .slice(0, limit)
    .map(toRecord);
}

/** Newest first; the last one is that it was submitted. */
async function eventsOf(ctx: Ground, task: JobTask, limit: number): Promise<Happened[]> {
  const stored = await listEvents(ctx.db, "managed_job", task.id, { kinds, limit });
  const happened: Happened[] = [];
  let { status } = task;
  for (const { from, to, reason, at } of stored.toReversed()) {
    status = (to as ManagedJobStatus | null) ?? status;
    happened.push({ task, status, reason, at });
    status = (from as ManagedJobStatus | null) ?? status;
  }
  const at = new Date(task.job.submittedAt);
  const isWhole = stored.length < limit;
  if (isWhole) happened.push({ task, status, reason: `submitted by ${task.job.user.name}`, at });
  return happened;
}

/** What happened to the clusters of its attempts, as far as their history is kept. */
async function clusterEventsOf(
  ctx: Ground,
  task: JobTask,
  limit: number,
): Promise<Pick<Happened, "reason" | "at">[]> {
  const found = [];
  for (const { id: clusterId, name, madeFor } of await listPastOf(ctx.db, clusterNameOf(task))) {
    if (madeFor?.id !== task.id) continue;
    const events = await listEvents(ctx.db, "cluster", clusterId, { kinds, limit });
    for (const { from, to, reason, at } of events.reverse()) {
      const what = to === null ? reason : `${from} → ${to}: ${reason}`;
      found.push({ reason: `cluster ${name}: ${what}`, at });
    }
  }
  return found;
}

/** The status of a task when something else happened. */
const statusAt = (own: readonly Happened[], event: Pick<Happened, "at">): ManagedJobStatus =>
  own.find(({ at }) => at <= event.at)?.status ?? "PENDING";

const toRecord = ({ task, status, reason, at }: Happened): ManagedJobEvent => ({
  spot_job_id: task.job.id,
  task_id: task.number,
  new_status: status,
  code: null,
  reason,
  timestamp: at.toISOString(),
});
