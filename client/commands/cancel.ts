import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobIdsOf } from "../arguments.ts";
import { count } from "../rendering.ts";
import { agree } from "../selection.ts";
import type { World } from "../world.ts";
import { carryOut } from "./following.ts";

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
  if (!yes) await agree(world, `Cancel ${what} on ${cluster}?`, { sweeping });
  const job_ids = ids.length > 0 ? ids : null;
  const input = { cluster_name: cluster, job_ids, all, all_users: allUsers };
  const title = `Cancelling ${what} on ${cluster}`;
  await carryOut(world, clusterOperations.cancel, input, { title, later });
}

function whatOf(ids: readonly number[], { all, allUsers }: { all: boolean; allUsers: boolean }) {
  if (allUsers) return "all jobs of everyone";
  if (all) return "all of your jobs";
  if (ids.length === 0) return "your latest running job";
  return ids.length === 1 ? `job ${ids[0]}` : `${count(ids.length, "job")} (${ids.join(", ")})`;
}
