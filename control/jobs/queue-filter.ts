import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { ManagedJobStatus } from "../../contract/statuses.ts";
import type { Ground } from "../ground.ts";
import { type SlimTask, type Whose, walkTasks } from "./list-store.ts";

type Input = InputOf<typeof rows.queueV2>;

/** The jobs of a page, and how many there are. */
export interface Found {
  readonly ids: readonly number[];
  /** Jobs that fit all filters. */
  readonly total: number;
  /** Tasks by status, before the filter by that. */
  readonly counts: ReadonlyMap<ManagedJobStatus, number>;
}

/** What jobs can be sorted by. */
const sortKeys: Readonly<Record<string, (task: SlimTask, now: number) => string | number>> = {
  job_id: ({ job_id }) => job_id,
  job_name: ({ name }) => name,
  submitted_at: ({ submitted_at }) => submitted_at,
  status: ({ status }) => status,
  user_name: ({ user_name }) => user_name,
  workspace: ({ workspace }) => workspace,
  infra: ({ infra }) => infra ?? "",
  recovery_count: ({ recoveries }) => recoveries,
  start_at: ({ started_at }) => started_at ?? 0,
  end_at: ({ ended_at }) => ended_at ?? 0,
  job_duration: ({ ran_ms, run_at }, now) => ran_ms + (run_at === null ? 0 : now - run_at),
};
export const sortNames = Object.keys(sortKeys);
export const isSortable = (name: string): boolean => Object.hasOwn(sortKeys, name);

/** Looks at every job for those that fit where no index knows them. */
export async function chooseJobs(
  ctx: Ground,
  input: Input,
  whose: Whose,
  statuses: readonly ManagedJobStatus[] | null,
): Promise<Found> {
  const counts = new Map<ManagedJobStatus, number>();
  const fitting = new Map<number, SlimTask>();
  for await (const tasks of walkTasks(ctx.db, whose, input.job_ids))
    for (const task of tasks) {
      if (!fits(task, input)) continue;
      counts.set(task.status, (counts.get(task.status) ?? 0) + 1);
      const isWanted = statuses?.includes(task.status) ?? true;
      if (isWanted && !fitting.has(task.job_id)) fitting.set(task.job_id, task);
    }
  const ids = sorted([...fitting.values()], input, ctx.now().getTime());
  const { page, limit } = input;
  const from = ((page ?? 1) - 1) * (limit ?? 0);
  return {
    ids: ids.slice(from, limit === null ? undefined : from + limit),
    total: ids.length,
    counts,
  };
}

function sorted(tasks: SlimTask[], { sort_by, sort_order }: Input, now: number): number[] {
  const keyOf = sortKeys[sort_by ?? "job_id"] ?? sortKeys["job_id"];
  const keyed = tasks.map((task) => ({ id: task.job_id, key: keyOf?.(task, now) ?? 0 }));
  const sign = sort_order === "asc" ? 1 : -1;
  keyed.sort((a, b) => sign * (compare(a.key, b.key) || a.id - b.id));
  return keyed.map(({ id }) => id);
}

const compare = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

function fits(task: SlimTask, input: Input): boolean {
  const { submitted_after: after, submitted_before: before } = input;
  const submittedAt = task.submitted_at / 1_000;
  return (
    has(task.name, input.name_match) &&
    has(task.user_name, input.user_match) &&
    has(task.workspace, input.workspace_match) &&
    has(task.infra ?? "", input.infra_match) &&
    has(task.pool ?? "", input.pool_match) &&
    (after === null || submittedAt >= after) &&
    (before === null || submittedAt <= before)
  );
}

const has = (text: string, part: string | null): boolean =>
  part === null || text.toLowerCase().includes(part.toLowerCase());
