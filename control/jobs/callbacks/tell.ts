import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import type { JobTask } from "../schema.ts";

/** Has a task's callback told what is new, if it has one. */
export function tellCallback(ctx: Context, { calledBack, job }: JobTask): void {
  if (calledBack !== null) void nudge(ctx, "job_callback", String(job.id));
}
