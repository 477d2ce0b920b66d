import type { Context } from "../../context.ts";
import { nudge } from "../../reconciler.ts";
import type { JobTask } from "../schema.ts";

/** A task, or what is known of one. */
type Told = Pick<JobTask, "calledBack"> & { readonly job: Pick<JobTask["job"], "id"> };

/** Has a task's callback told what is new, if it has one. */
export function tellCallback(ctx: Context, { calledBack, job }: Told): void {
  if (calledBack !== null) void nudge(ctx, "job_callback", String(job.id));
}
