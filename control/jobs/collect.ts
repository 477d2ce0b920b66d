import { rm } from "node:fs/promises";
import type { Ground } from "../ground.ts";
import { taskFolder } from "./folders.ts";
import { dropJob, listOldTasks } from "./store.ts";

const dayMs = 86_400_000;
const atOnce = 100;

/** Forgets jobs, with their logs, of which nothing is left for longer than the setting says of clusters. */
export async function collectJobs(ctx: Ground): Promise<void> {
  const { clusterHistoryDays: days } = ctx.config;
  if (days < 0) return;
  const before = ctx.now().getTime() - days * dayMs;
  for (;;) {
    const old = await listOldTasks(ctx.db, before, atOnce);
    for (const { id } of old) await rm(taskFolder(ctx, id), { recursive: true, force: true });
    for (const jobId of new Set(old.map(({ job_id }) => job_id)))
      await ctx.batch((tx) => dropJob(tx, jobId));
    if (old.length < atOnce) return;
  }
}
