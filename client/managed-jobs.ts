import { fail } from "../common/errors.ts";
import { jobOperations } from "../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../contract/records/jobs.ts";
import { jobExitCodes } from "../contract/statuses.ts";
import { jobIdsOf } from "./arguments.ts";
import { reasonOf } from "./output/managed-jobs.ts";
import { styleOfStatus } from "./rendering.ts";
import type { World } from "./world.ts";

/** The managed job that a command line means: by its number, by its name, or the latest one. */
export function namedJob(words: readonly string[], name: string | undefined) {
  if (words.length > 0 && name !== undefined)
    fail("UsageError", "pass the number of the job or --name, not both");
  return { job_id: jobIdsOf(words)[0] ?? null, name: name ?? null };
}

/** The record of a job of any user; undefined if there is none that the caller may see. */
export async function findJob(world: World, id: number): Promise<ManagedJobRecord | undefined> {
  const client = await world.connect();
  const { jobs } = await client.callAndGet(jobOperations.queueV2, {
    ...{ job_ids: [id], all_users: true },
  });
  return jobs[0];
}

/** The number of the job that is meant; undefined where there is none. */
export async function idOfNamed(
  world: World,
  { job_id: id, name }: ReturnType<typeof namedJob>,
): Promise<number | undefined> {
  if (id !== null) return id;
  const client = await world.connect();
  const { jobs } = await client.callAndGet(jobOperations.queueV2, {
    ...{ all_users: name !== null, fields: ["job_name"] },
    ...(name === null ? { page: 1, limit: 1 } : { name_match: name }),
  });
  return jobs.find((job) => name === null || job.job_name === name)?.job_id ?? undefined;
}

/** Says how a job fares, or ended. */
export async function tellJob(world: World, id: number): Promise<void> {
  const { terminal } = world;
  const job = await findJob(world, id);
  if (job?.status == null) return;
  const { status } = job;
  const reason = reasonOf(job);
  const told = terminal.paintNote(styleOfStatus(status) ?? "bold", `Managed job ${id} ${status}`);
  terminal.note(`${told}${reason === null ? "" : `: ${reason}`}`);
}

/** Says how to come back to a job. */
export function tellWays({ terminal }: World, id: number, code: number): void {
  const hint = (label: string, command: string) =>
    terminal.note(`  ${terminal.paintNote("dim", label.padEnd(8))}${command}`);
  hint("logs", `outrigger jobs logs ${id}`);
  if (code === jobExitCodes.NOT_FINISHED) hint("cancel", `outrigger jobs cancel ${id}`);
}
