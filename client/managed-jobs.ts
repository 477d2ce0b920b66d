import { fail } from "../common/errors.ts";
import { jobOperations } from "../contract/operations/jobs.ts";
import type { ManagedJobRecord } from "../contract/records/jobs.ts";
import { listedBy } from "../contract/spelling.ts";
import { jobExitCodes } from "../contract/statuses.ts";
import { jobIdsOf } from "./arguments.ts";
import { reasonOf } from "./output/managed-jobs.ts";
import { styleOfStatus } from "./rendering.ts";
import { tellCommands } from "./ways.ts";
import type { World } from "./world.ts";

/** The managed job that a command line means, by its number, by its name, or the latest one; and its task. */
export function namedJob(words: readonly string[], name: string | undefined) {
  const [job, task, ...others] = name === undefined ? words : [undefined, ...words];
  if (others.length > 0)
    fail("UsageError", "pass the number of the job or --name, and at most one task of it");
  return {
    job_id: jobIdsOf(job === undefined ? [] : [job])[0] ?? null,
    name: name ?? null,
    task: taskNamed(task),
  };
}

type Named = Pick<ReturnType<typeof namedJob>, "job_id" | "name">;

/** A task of a job, which is called by its number or its name. */
export const taskNamed = (task: string | undefined): number | string | null =>
  task !== undefined && /^\d+$/.test(task) ? Number(task) : (task ?? null);

/** The records of the tasks of a job of any user; none if there is no job that the caller may see. */
export async function listTasksOf(world: World, id: number): Promise<ManagedJobRecord[]> {
  const client = await world.connect();
  const { jobs } = await client.callAndGet(jobOperations.queueV2, {
    ...{ job_ids: [id], all_users: true },
  });
  return jobs;
}

/** How a job is called among others: a task of several by both names. */
export const nameOf = ({ job_name: name, task_name: task, execution }: ManagedJobRecord): string =>
  execution === null ? (name ?? "-") : `${name}/${task}`;

/** The number of the job that is meant; undefined where there is none. */
export async function idOfNamed(
  world: World,
  { job_id: id, name }: Named,
): Promise<number | undefined> {
  if (id !== null) return id;
  const client = await world.connect();
  const { jobs } = await client.callAndGet(jobOperations.queueV2, {
    ...{ all_users: name !== null, fields: ["job_name"] },
    ...(name === null ? { page: 1, limit: 1 } : { name_match: name }),
  });
  return jobs.find((job) => name === null || job.job_name === name)?.job_id ?? undefined;
}

/** That there is no such job. */
export function missingJob({ job_id: id, name }: Named): string {
  if (id === null && name === null) return "you have no managed job yet";
  const which = id === null ? `named ${name}` : id;
  return `there is no managed job ${which}; ${listedBy("jobs queue")}`;
}

/** Says how a job fares, or ended, with each of its tasks. */
export async function tellJob(world: World, id: number): Promise<void> {
  const { terminal } = world;
  for (const task of await listTasksOf(world, id)) {
    const { status, execution } = task;
    if (status === null) continue;
    const of = execution === null ? "" : `, task ${task.task_id} (${task.task_name}):`;
    const reason = reasonOf(task);
    const told = terminal.paintNote(
      styleOfStatus(status) ?? "bold",
      `Managed job ${id}${of} ${status}`,
    );
    terminal.note(`${told}${reason === null ? "" : `: ${reason}`}`);
  }
}

/** Says how to come back to a job. */
export function tellWays({ terminal }: World, id: number, code: number): void {
  const isOpen = code === jobExitCodes.NOT_FINISHED;
  tellCommands(terminal, [
    ["logs", `outrigger jobs logs ${id}`],
    ...(isOpen ? ([["cancel", `outrigger jobs cancel ${id}`]] as const) : []),
  ]);
}
