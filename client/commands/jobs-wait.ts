import { jobOperations } from "../../contract/operations/jobs.ts";
import type { Command } from "../catalog.ts";
import { idOfNamed, listTasksOf, namedJob, tellJob } from "../managed-jobs.ts";
import { managedJobForm } from "../output/managed-jobs.ts";
import { answerJson } from "./answers.ts";

/** `outrigger jobs wait`: its exit code is the outcome of the job. */
export const jobsWait: Command<"jobs wait"> = async (world, words, { name, ...options }) => {
  const client = await world.connect();
  const named = namedJob(words, name);
  const id = await idOfNamed(world, named);
  const input = id === undefined ? named : { ...named, job_id: id, name: null };
  const code = await client.callAndGet(jobOperations.wait, input);
  if (id === undefined) return code;
  if (world.json) answerJson(world, options, managedJobForm, await listTasksOf(world, id));
  else await tellJob(world, id);
  return code;
};
