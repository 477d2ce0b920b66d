import { fail } from "../../common/errors.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { tellWays } from "../managed-jobs.ts";
import { agree } from "../selection.ts";
import { withSourcePositions } from "../source-positions.ts";
import { textIn } from "../task-text.ts";
import { carryOut } from "./carry-out.ts";
import { followManagedJob } from "./jobs-logs.ts";
import { taskOf, withFiles } from "./launch.ts";
import { showPlan } from "./plan.ts";

/** `outrigger jobs launch`: a managed job, and its log. */
export const jobsLaunch: Command<"jobs launch"> = async (world, operands, options) => {
  const { terminal, signal } = world;
  if (operands.length === 0) fail("UsageError", "say what to run: outrigger jobs launch FILE");
  const source = await entrypointOf(world, operands);
  const task = await taskOf(world, source, options, "all");
  if (terminal.canAsk && !options.yes)
    await withSourcePositions(source, task, async () => {
      // Which machines a pool has is settled.
      if ((options.pool ?? textIn(task, "pool")) === undefined) await showPlan(world, task, null);
      await agree(world, "Launch a managed job?");
    });
  const input = { ...(await withFiles(world, task, "all")), name: null, ...inputOf(options) };
  const more = { title: "Submitting the managed job", later: options.async, tells: tellsJob };
  const result = await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, jobOperations.launch, input, { ...more, reword }),
  );
  const ids = result?.job_id ?? [];
  const [id] = ids;
  if (id === undefined || world.json) return 0;
  // Nobody reads the logs of several jobs at a time.
  if (options.detachRun || ids.length > 1) {
    tellWays(world, id, jobExitCodes.NOT_FINISHED);
    for (const one of ids) terminal.answer(String(one));
    return 0;
  }
  const code = await followManagedJob(world, { job_id: id, name: null, task: null });
  if (!signal.aborted) tellWays(world, id, code);
  return code;
};

const inputOf = ({ pool, numJobs, group }: OptionsOf<"jobs launch">) => ({
  pool: pool ?? null,
  num_jobs: numJobs ?? null,
  parent_job_id: group ?? null,
  job_group_explicit: group !== undefined,
});

const tellsJob = ({ job_id: ids }: { readonly job_id: readonly number[] | null }) =>
  (ids ?? []).map((id) => ({ job_id: id }));
