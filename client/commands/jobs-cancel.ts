import { fail } from "../../common/errors.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobIdsOf } from "../arguments.ts";
import { taskNamed } from "../managed-jobs.ts";
import { agree } from "../selection.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";

interface CancelOptions {
  readonly name?: string;
  readonly task?: string;
  readonly all?: boolean;
  readonly allUsers?: boolean;
  readonly yes?: boolean;
  readonly async?: boolean;
}

/** `outrigger jobs cancel`. */
export async function jobsCancel(
  world: World,
  words: readonly string[],
  { name, task, all = false, allUsers = false, yes = false, async: later }: CancelOptions,
): Promise<undefined> {
  const ids = jobIdsOf(words);
  const ways = [ids.length > 0, name !== undefined, all || allUsers].filter(Boolean).length;
  if (ways !== 1) fail("UsageError", "pass numbers of managed jobs, --name, --all or --all-users");
  if (task !== undefined && name === undefined && ids.length !== 1)
    fail("UsageError", "--task is a task of one job: pass its number or --name as well");
  const what = `${task === undefined ? "" : `task ${task} of `}${whatOf({ ids, name, allUsers })}`;
  if (!yes) await agree(world, `Cancel ${what}?`, { sweeping: all || allUsers, isFinal: true });
  const input = {
    ...{ name: name ?? null, job_ids: ids.length > 0 ? ids : null },
    ...{ all: all && !allUsers, all_users: allUsers, task: taskNamed(task) },
  };
  await carryOut(world, jobOperations.cancel, input, { title: `Cancelling ${what}`, later });
}

interface Chosen {
  readonly ids: readonly number[];
  readonly name: string | undefined;
  readonly allUsers: boolean;
}

function whatOf({ ids, name, allUsers }: Chosen): string {
  if (name !== undefined) return `managed job ${name}`;
  if (ids.length > 0) return `managed job ${ids.join(", ")}`;
  return allUsers ? "all managed jobs of all users" : "all of your managed jobs";
}
