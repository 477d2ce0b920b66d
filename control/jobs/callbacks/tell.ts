import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import { policyOf } from "../../workspaces/schema.ts";
import type { JobTask } from "../schema.ts";

/** A task, or what is known of one. */
type Told = Pick<JobTask, "calledBack"> & { readonly job: Pick<JobTask["job"], "id"> };

/** Has a task's callback told what is new, if it has one. */
export function tellCallback(ctx: Context, { calledBack, job }: Told): void {
  if (calledBack !== null) void nudge(ctx, "job_callback", String(job.id));
}

/** Whether the callbacks of a workspace may run: they do so where control runs. */
export async function mayCallBack(ctx: Context, workspace: string): Promise<boolean> {
  const { document } = await ctx.configurations.current();
  return policyOf(document, workspace).allows("local");
}
