import { fail } from "../../common/errors.ts";
import { listedBy } from "../../contract/spelling.ts";
import { type Identity, ownerShown, seesWorkspace } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import type { JobTask } from "./schema.ts";
import { findLatestId, listMembers, listTasks } from "./store.ts";

type Reader = Pick<Identity, "user" | "workspaces">;

/** Which job is meant, and which of its tasks. */
interface Named {
  readonly name: string | null;
  readonly job_id: number | null;
  readonly task: number | string | null;
}

/**
 * The tasks that a caller means: those of a job, or one of them; without a number or a name those of the caller's
 * latest job. None where there is no such job, or the caller does not see it. Throws `ValueError` where both
 * are given, or the job has no such task.
 */
export async function findTasks(
  ctx: Ground,
  { name, job_id: id, task }: Named,
  reader: Reader,
): Promise<JobTask[]> {
  if (name !== null && id !== null)
    fail("ValueError", "give the name or the number of the job, not both");
  const { workspaces } = reader;
  const userId = name === null ? ownerShown(reader, false) : undefined;
  const latest = () => findLatestId(ctx.db, { name: name ?? undefined, userId, workspaces });
  const found = id ?? (await latest());
  const tasks = found === undefined ? [] : await listTasks(ctx.db, [found]);
  const seen = tasks.filter(({ job }) => seesWorkspace(reader, job.workspace));
  const [first] = seen;
  return task === null || first === undefined ? seen : [await oneOf(ctx, first.job.id, seen, task)];
}

/** A task of a job, or a job that has joined it: by number or name. */
async function oneOf(
  ctx: Ground,
  jobId: number,
  tasks: readonly JobTask[],
  wanted: number | string,
): Promise<JobTask> {
  const own = tasks.find(({ number, name }) => wanted === number || wanted === name);
  if (own !== undefined) return own;
  const members = await listTasks(ctx.db, await listMembers(ctx.db, [jobId]));
  const isWanted = ({ job: { joined }, name }: JobTask) =>
    wanted === joined?.number || wanted === name;
  return members.find(isWanted) ?? fail("ValueError", `managed job ${jobId} has no task ${wanted}`);
}

/** How a caller has called a job that there is not. */
export const noSuchJob = ({ name, job_id: id }: Pick<Named, "name" | "job_id">): string => {
  if (id !== null) return `there is no managed job ${id}; ${listedBy("jobs queue")}`;
  if (name !== null) return `there is no managed job named ${name}; ${listedBy("jobs queue")}`;
  return "you have no managed job yet";
};

/** As `findTasks`; throws `JobNotFoundError` where there are none. */
export async function getTasks(ctx: Ground, named: Named, reader: Reader): Promise<JobTask[]> {
  const tasks = await findTasks(ctx, named, reader);
  return tasks.length > 0 ? tasks : fail("JobNotFoundError", noSuchJob(named));
}
