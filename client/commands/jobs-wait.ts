import { jobOperations } from "../../contract/operations/jobs.ts";
import { findJob, idOfNamed, namedJob, tellJob } from "../managed-jobs.ts";
import { managedJobForm } from "../output/managed-jobs.ts";
import type { World } from "../world.ts";
import { answerJson, type OutputOptions } from "./answers.ts";

interface WaitOptions extends OutputOptions {
  readonly name?: string;
}

/** `outrigger jobs wait`: its exit code is the outcome of the job. */
export async function jobsWait(
  world: World,
  words: readonly string[],
  { name, ...options }: WaitOptions,
): Promise<number> {
  const client = await world.connect();
  const named = namedJob(words, name);
  const id = await idOfNamed(world, named);
  const input = id === undefined ? named : { job_id: id, name: null };
  const code = await client.callAndGet(jobOperations.wait, input);
  if (id === undefined) return code;
  const job = world.json ? await findJob(world, id) : undefined;
  if (job !== undefined) answerJson(world, options, managedJobForm, [job]);
  else await tellJob(world, id);
  return code;
}
