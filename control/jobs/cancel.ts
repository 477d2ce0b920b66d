import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import { ownerShown } from "../access/identity.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { causeOf } from "../want.ts";
import { getTasks } from "./find.ts";
import { listOpenIds } from "./list-store.ts";
import type { JobTask } from "./schema.ts";
import { listMembers, listTasks } from "./store.ts";
import { wakeTask, wantCancelled } from "./want.ts";

type Input = InputOf<typeof rows.cancel>;

/**
 * Cancels managed jobs: what runs is ended, then nothing of them is left; so are the jobs that have joined them. Does
 * not wait for that.
 */
export async function cancel(ctx: Context, input: Input, call: Call): Promise<null> {
  const tasks = await choose(ctx, input, call);
  await cancelTasks(ctx, tasks, call);
  // Nothing joins a group any more that is being cancelled.
  const roots = input.task === null ? tasks.map(({ job }) => job.id) : [];
  const members = await listTasks(ctx.db, await listMembers(ctx.db, roots));
  await cancelTasks(
    ctx,
    members.filter(({ endedAt }) => endedAt === null),
    call,
  );
  if (tasks.length === 0) call.print("No managed job to cancel\n");
  return null;
}

async function cancelTasks(ctx: Context, tasks: readonly JobTask[], call: Call): Promise<void> {
  const cause = causeOf(call, "cancelled");
  const cancelled = new Set<number>();
  for (const { id, job } of tasks) {
    if (await ctx.batch((tx) => wantCancelled(tx, id, cause))) cancelled.add(job.id);
    wakeTask(ctx, id);
  }
  for (const [jobId, [first]] of Map.groupBy(tasks, ({ job }) => job.id)) {
    const how = cancelled.has(jobId) ? "is being cancelled" : `is ${first?.status} already`;
    call.print(`Managed job ${jobId} ${how}\n`);
  }
}

/** What the row's shapes cannot say of which jobs are meant. */
export function checkCancel(input: Input): void {
  const { name, all, all_users: allUsers, pool, task } = input;
  const ids = idsOf(input);
  const ways = [name !== null, ids !== null, pool !== null, all && !allUsers, allUsers];
  if (ways.filter(Boolean).length !== 1)
    fail("ValueError", "give exactly one of name, job_ids, pool, all and all_users");
  if (task !== null && name === null && ids?.length !== 1)
    fail("ValueError", "a task belongs to one job; name the job as well");
}

/** The jobs that are named by number; existing clients send an empty list for none. */
const idsOf = ({ job_ids: ids }: Input): readonly number[] | null =>
  ids === null || ids.length === 0 ? null : ids;

async function choose(ctx: Ground, input: Input, call: Call): Promise<JobTask[]> {
  const { name, all_users: allUsers, pool, task } = input;
  const ids = idsOf(input);
  if (name !== null) return getTasks(ctx, { name, job_id: null, task }, call);
  if (ids !== null) {
    const named = ids.map((id) => getTasks(ctx, { name: null, job_id: id, task }, call));
    return (await Promise.all(named)).flat();
  }
  const of = { userId: ownerShown(call, allUsers || pool !== null), workspaces: call.workspaces };
  const open = await listTasks(ctx.db, await listOpenIds(ctx.db, of));
  return open.filter(({ endedAt, job }) => endedAt === null && (pool ?? job.pool) === job.pool);
}
