import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobIdsOf } from "../arguments.ts";
import { count } from "../rendering.ts";
import { agree, listClusters, requireAll } from "../selection.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";

interface CancelOptions {
  readonly all?: boolean;
  readonly allUsers?: boolean;
  readonly yes?: boolean;
  readonly async?: boolean;
}

/** `outrigger cancel`. */
export async function cancel(
  world: World,
  [cluster = "", ...words]: readonly string[],
  { all = false, allUsers = false, yes = false, async: later }: CancelOptions,
): Promise<undefined> {
  const ids = jobIdsOf(words);
  if ((all || allUsers) && ids.length > 0) fail("UsageError", "name jobs or say --all, not both");
  const what = whatOf(ids, { all, allUsers });
  const sweeping = ids.length === 0;
  if (!yes) {
    await requireAll(world, [cluster], await listClusters(await world.connect(), [cluster]));
    await requireJobs(world, cluster, ids);
    await agree(world, `Cancel ${what} on ${cluster}?`, { sweeping });
  }
  const job_ids = ids.length > 0 ? ids : null;
  const input = { cluster_name: cluster, job_ids, all, all_users: allUsers };
  const title = `Cancelling ${what} on ${cluster}`;
  await carryOut(world, clusterOperations.cancel, input, { title, later });
}

/** Throws `JobNotFoundError` naming each job that the cluster has not. */
async function requireJobs(world: World, cluster: string, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
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

function whatOf(ids: readonly number[], { all, allUsers }: { all: boolean; allUsers: boolean }) {
  if (allUsers) return "all jobs of everyone";
  if (all) return "all of your jobs";
  if (ids.length === 0) return "your latest running job";
  return ids.length === 1 ? `job ${ids[0]}` : `${count(ids.length, "job")} (${ids.join(", ")})`;
}
