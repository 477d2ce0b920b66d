import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { isPattern, jobIdsOf } from "../arguments.ts";
import { count } from "../rendering.ts";
import { agree, listClusters, requireAll } from "../selection.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";

interface CancelOptions extends Partial<Whose> {
  readonly yes?: boolean;
  readonly async?: boolean;
}

/** Whose jobs, where none is named. */
interface Whose {
  readonly all: boolean;
  readonly allUsers: boolean;
}

/** `outrigger cancel`. What is asked about is named, and no other job is cancelled in its place. */
export async function cancel(
  world: World,
  [cluster = "", ...words]: readonly string[],
  { all = false, allUsers = false, yes = false, async: later }: CancelOptions,
): Promise<undefined> {
  const named = jobIdsOf(words);
  if ((all || allUsers) && named.length > 0) fail("UsageError", "name jobs or say --all, not both");
  if (isPattern(cluster))
    fail("UsageError", `${cluster} is a pattern; jobs are cancelled on one cluster, name that`);
  const whose = { all, allUsers };
  const ids = yes ? named : await agreed(world, cluster, named, whose);
  if (ids === undefined) {
    world.terminal.note(`No job to cancel on ${cluster}.`);
    return;
  }
  const isNamed = ids.length > 0 && !all && !allUsers;
  const input = { cluster_name: cluster, job_ids: isNamed ? ids : null, all, all_users: allUsers };
  const title = `Cancelling ${isNamed ? jobsText(ids) : whatOf(whose)} on ${cluster}`;
  await carryOut(world, clusterOperations.cancel, input, { title, later });
}

/** The jobs that whoever is asked agrees to; undefined when there is none. */
async function agreed(
  world: World,
  cluster: string,
  named: number[],
  whose: Whose,
): Promise<number[] | undefined> {
  await requireAll(world, [cluster], await listClusters(await world.connect(), [cluster]));
  if (named.length > 0) {
    await requireJobs(world, cluster, named);
    await agree(world, `Cancel ${jobsText(named)} on ${cluster}?`);
    return named;
  }
  const ids = await listActive(world, cluster, whose);
  if (ids.length === 0) return undefined;
  const question = `Cancel ${whatOf(whose)} on ${cluster}: ${jobsText(ids)}?`;
  await agree(world, question, { sweeping: true });
  return ids;
}

/** What control takes `all` and `allUsers` for, or neither: the latest of the caller's. */
async function listActive(world: World, cluster: string, { all, allUsers }: Whose) {
  const client = await world.connect();
  const filter = { cluster_name: cluster, skip_finished: true, all_users: allUsers };
  const active = await client.callAndGet(clusterOperations.queue, filter);
  const ids = active.map(({ job_id }) => job_id);
  return all || allUsers ? ids : ids.slice(0, 1);
}

/** Throws `JobNotFoundError` naming each job that the cluster has not. */
async function requireJobs(world: World, cluster: string, ids: readonly number[]): Promise<void> {
  const client = await world.connect();
  const input = { cluster_name: cluster, job_ids: [...ids] };
  const statuses = await client.callAndGet(clusterOperations.jobStatus, input);
  const missing = ids.filter((id) => !statuses[id]);
  if (missing.length > 0)
    fail(
      "JobNotFoundError",
      `cluster ${cluster} has no job ${missing.join(", ")}; queue lists them`,
    );
}

function whatOf({ all, allUsers }: Whose): string {
  if (allUsers) return "all jobs of everyone";
  return all ? "all of your jobs" : "your latest running job";
}

const jobsText = (ids: readonly number[]): string =>
  ids.length === 1 ? `job ${ids[0]}` : `${count(ids.length, "job")} (${ids.join(", ")})`;
