import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { jobOperations as rows } from "../../contract/operations/jobs.ts";
import type { Call } from "../bind.ts";
import { checkManagedFiles } from "../clusters/managed.ts";
import type { Context } from "../context.ts";
import { describeAsked } from "../offer-words.ts";
import { asksForSpot, refuseImpossible } from "../offers.ts";
import { nudge } from "../reconciler.ts";
import { readTask, readTaskAndRemarks, withoutSecrets } from "../task.ts";
import { causeOf } from "../want.ts";
import { admitJob } from "../workspaces/admit.ts";
import { withDefaults } from "../workspaces/defaults.ts";
import { addJob, findSubmitted, listTasks, type NewJob } from "./store.ts";

type Input = InputOf<typeof rows.launch>;

/** Submits a managed job; answers its number. From there on control runs it to its end. */
export async function launch(ctx: Context, given: Input, call: Call) {
  const yaml = await withDefaults(ctx, call.workspace, given.task);
  const id = (await findSubmitted(ctx.db, call.id)) ?? (await submit(ctx, given, yaml, call));
  for (const { id: taskId } of await listTasks(ctx.db, [id]))
    void nudge(ctx, "managed_job", taskId);
  call.print(`Managed job ${id} is submitted; its log: ${product.word} jobs logs ${id}\n`);
  return { job_id: [id], handle: null };
}

/** What this version cannot do with a job is refused, before anything is stored. */
export function checkLaunch(input: Input): void {
  const { pool, num_jobs, parent_job_id, parent_task_id, job_group_explicit } = input;
  if (pool !== null) fail("NotSupportedError", "this version has no worker pools: leave pool out");
  if (num_jobs !== null)
    fail("NotSupportedError", "this version submits one job at a time: leave num_jobs out");
  if (parent_job_id !== null || parent_task_id !== null || job_group_explicit)
    fail("NotSupportedError", "this version has no job groups that a job could join");
  checkManagedFiles(readTask(input.task, "jobs.launch"));
}

async function submit(ctx: Context, given: Input, yaml: string, call: Call): Promise<number> {
  const [task, remarks] = readTaskAndRemarks(yaml, "jobs.launch", ({ resources }) => [
    "resources.job_recovery",
    ...(asksForSpot(ctx, resources) ? ["resources.use_spot"] : []),
  ]);
  call.print(remarks);
  await refuseImpossible(ctx, task, call.workspace, call.signal);
  const name = given.name ?? task.name ?? "job";
  const job: NewJob = {
    ...{ requestId: call.id, name, user: call.user, workspace: call.workspace },
    command: withoutSecrets(call.command, task),
    priority: task.resources.priority,
    submittedAt: ctx.now().getTime(),
    document: { yaml, blobId: given.file_mounts_blob_id ?? null },
    reason: causeOf(call, "submitted").because,
  };
  const id = randomBytes(6).toString("hex");
  const tasks = [{ id, name: task.name ?? name, resources: describeAsked(task) }];
  return ctx.batch(async (tx) => {
    await admitJob(ctx, tx, call.workspace, call);
    return addJob(tx, ctx.seal, job, tasks);
  });
}
