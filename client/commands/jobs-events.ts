import { AppError } from "../../common/errors.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import type { ManagedJobEvent } from "../../contract/records/jobs.ts";
import type { Command } from "../catalog.ts";
import { idOfNamed, missingJob, namedJob } from "../managed-jobs.ts";
import { managedJobEventForm } from "../output/managed-jobs.ts";
import { type Column, localTime, styleOfStatus } from "../rendering.ts";
import { answerRows } from "./answers.ts";

const columns: readonly Column<ManagedJobEvent>[] = [
  {
    title: "WHEN",
    text: ({ timestamp }) => localTime(Date.parse(timestamp) / 1_000),
    style: () => "dim",
  },
  {
    title: "STATUS",
    text: ({ new_status: status }) => status,
    style: ({ new_status: status }) => styleOfStatus(status),
  },
  { title: "WHAT", text: ({ reason }) => reason ?? "-", least: 12, wraps: true },
];

/** `outrigger jobs events`: oldest first. */
export const jobsEvents: Command<"jobs events"> = async (
  world,
  words,
  { name, limit, clusters = false, ...options },
) => {
  const client = await world.connect();
  const named = namedJob(words, name);
  const id = await idOfNamed(world, named);
  const input = { task: named.task, limit: limit ?? null, include_cluster_events: clusters };
  const found =
    id === undefined ? [] : await client.callAndGet(jobOperations.events, { job_id: id, ...input });
  // The first event of a job is that it was submitted.
  const empty = missingJob(named);
  if (found.length === 0) throw new AppError("JobNotFoundError", empty);
  answerRows(world, options, {
    form: managedJobEventForm,
    rows: found.reverse(),
    columns,
    empty,
  });
};
