import { fail } from "../../common/errors.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobIdsOf } from "../arguments.ts";
import type { Command } from "../catalog.ts";
import { taskNamed } from "../managed-jobs.ts";
import { agree } from "../selection.ts";
import { carryOut } from "./carry-out.ts";

/** `outrigger jobs cancel`. */
export const jobsCancel: Command<"jobs cancel"> = async (
  world,
  words,
  { name, pool, task, all = false, allUsers = false, yes = false, async: later },
) => {
  const ids = jobIdsOf(words);
  const isPool = pool !== undefined;
  const ways = [ids.length > 0, name !== undefined, isPool, all || allUsers];
  if (ways.filter(Boolean).length !== 1)
    fail("UsageError", "pass numbers of managed jobs, --name, --pool, --all or --all-users");
  if (task !== undefined && name === undefined && ids.length !== 1)
    fail("UsageError", "--task is a task of one job: pass its number or --name as well");
  const jobs = whatOf({ ids, name, pool, allUsers });
  const what = task === undefined ? jobs : `task ${task} of ${jobs}`;
  const sweeping = all || allUsers || isPool;
  if (!yes) await agree(world, `Cancel ${what}?`, { sweeping, isFinal: true });
  const input = {
    ...{ name: name ?? null, pool: pool ?? null, job_ids: ids.length > 0 ? ids : null },
    ...{ all: all && !allUsers, all_users: allUsers, task: taskNamed(task) },
  };
  await carryOut(world, jobOperations.cancel, input, { title: `Cancelling ${what}`, later });
};

interface Chosen {
  readonly ids: readonly number[];
  readonly name: string | undefined;
  readonly pool: string | undefined;
  readonly allUsers: boolean;
}

function whatOf({ ids, name, pool, allUsers }: Chosen): string {
  if (pool !== undefined) return `all managed jobs of pool ${pool}`;
  if (name !== undefined) return `managed job ${name}`;
  if (ids.length > 0) return `managed job ${ids.join(", ")}`;
  return allUsers ? "all managed jobs of all users" : "all of your managed jobs";
}
