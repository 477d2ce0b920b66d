import { count } from "../../common/count.ts";
import { AppError, fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { listedBy } from "../../contract/spelling.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { isPattern, jobIdsOf } from "../arguments.ts";
import type { Command } from "../catalog.ts";
import { agree, listClusters, requireAll } from "../selection.ts";
import type { World } from "../world.ts";
import { tellActions } from "./actions.ts";
import { carryOut } from "./carry-out.ts";

/** Whose jobs, where none is named. */
interface Whose {
  readonly all: boolean;
  readonly allUsers: boolean;
}

/** `outrigger cancel`. What is asked about is named, and no other job is cancelled in its place. */
export const cancel: Command<"cancel"> = async (
  world,
  [cluster = "", ...words],
  { all = false, allUsers = false, yes = false, async: later },
) => {
  const named = jobIdsOf(words);
  if ((all || allUsers) && named.length > 0) fail("UsageError", "pass job ids or --all, not both");
  if (isPattern(cluster)) fail("UsageError", `${cluster} is a pattern; name a single cluster`);
  const whose = { all, allUsers };
  await requireAll(world, [cluster], await listClusters(await world.connect(), [cluster]));
  const found = named.length > 0 ? named : await listActive(world, cluster, whose);
  const ended = await endedOf(world, cluster, named.length > 0 || found.length > 0 ? named : null);
  const needless = found.every((id) => ended.some(([job]) => job === id));
  const tellEnded = () => {
    // Of jobs that are named, the request tells.
    if (named.length > 0) return;
    for (const [id, status] of ended)
      world.terminal.note(`Job ${id} on ${cluster} is ${status} already.`);
  };
  if (!yes && found.length === 0) {
    world.terminal.note(`No job to cancel on ${cluster}.`);
    tellEnded();
    tellActions(world, []);
    return;
  }
  if (!yes) await agreeToCancel(world, cluster, named, found, whose);
  const ids = yes ? named : found;
  const isNamed = ids.length > 0 && !all && !allUsers;
  const input = { cluster_name: cluster, job_ids: isNamed ? ids : null, all, all_users: allUsers };
  const title = `Cancelling ${isNamed ? jobsText(ids) : whatOf(whose)} on ${cluster}`;
  await carryOut(world, clusterOperations.cancel, input, { title, name: cluster, later, needless });
  tellEnded();
};

/** Asks about jobs that are named, or those that are meant where none is. */
function agreeToCancel(
  world: World,
  cluster: string,
  named: readonly number[],
  ids: readonly number[],
  whose: Whose,
): Promise<void> {
  if (named.length > 0) return agree(world, `Cancel ${jobsText(named)} on ${cluster}?`);
  const question = `Cancel ${whatOf(whose)} on ${cluster}: ${jobsText(ids)}?`;
  return agree(world, question, { sweeping: true });
}

/** What control takes `all` and `allUsers` for, or neither: the latest of the caller's. */
async function listActive(world: World, cluster: string, { all, allUsers }: Whose) {
  const client = await world.connect();
  const filter = { cluster_name: cluster, skip_finished: true, all_users: allUsers };
  const active = await client.callAndGet(clusterOperations.queue, filter);
  const ids = active.map(({ job_id }) => job_id);
  return all || allUsers ? ids : ids.slice(0, 1);
}

/**
 * The jobs that have ended, with their statuses; of the latest one when the ids are null. Throws
 * `JobNotFoundError` naming each that the cluster has not.
 */
async function endedOf(
  world: World,
  cluster: string,
  ids: readonly number[] | null,
): Promise<[number, string][]> {
  if (ids?.length === 0) return [];
  const client = await world.connect();
  const input = { cluster_name: cluster, job_ids: ids && [...ids] };
  const statuses: Readonly<Record<string, string | null>> = await client
    .callAndGet(clusterOperations.jobStatus, input)
    .catch((error: unknown) => {
      if (ids === null && error instanceof AppError && error.type === "JobNotFoundError") return {};
      throw error;
    });
  const missing = ids?.filter((id) => !statuses[id]) ?? [];
  if (missing.length > 0)
    fail(
      "JobNotFoundError",
      `cluster ${cluster} has no job ${missing.join(", ")}; ${listedBy("queue")}`,
    );
  return Object.entries(statuses).flatMap(([id, status]) =>
    status !== null && hasEnded(status) ? [[Number(id), status]] : [],
  );
}

const hasEnded = (status: string): boolean =>
  jobMachine.names.some((name) => name === status && jobMachine.isFinal(name));

function whatOf({ all, allUsers }: Whose): string {
  if (allUsers) return "all jobs of all users";
  return all ? "all of your jobs" : "your latest running job";
}

const jobsText = (ids: readonly number[]): string =>
  ids.length === 1 ? `job ${ids[0]}` : `${count(ids.length, "job")} (${ids.join(", ")})`;
