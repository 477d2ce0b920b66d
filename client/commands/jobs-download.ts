import { AppError, fail } from "../../common/errors.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import type { Command } from "../catalog.ts";
import { idOfNamed, missingJob, namedJob } from "../managed-jobs.ts";
import { answerLogFolder } from "./log-folder.ts";

/** `outrigger jobs download`. */
export const jobsDownload: Command<"jobs download"> = async (
  world,
  words,
  { name, controller = false },
) => {
  const client = await world.connect();
  const named = namedJob(words, name);
  if (named.task !== null) fail("UsageError", "pass the number of the job or --name, not both");
  const id = await idOfNamed(world, named);
  const input = { name: null, job_id: id ?? null, controller };
  const places = id === undefined ? {} : await client.callAndGet(jobOperations.downloadLogs, input);
  const place = places[String(id)];
  if (id === undefined || place === undefined)
    throw new AppError("JobNotFoundError", missingJob(named));
  await answerLogFolder(world, place, `managed-job-${id}`, { managed_job: id });
};
