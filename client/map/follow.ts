import { fail } from "../../common/errors.ts";
import { notRecovered } from "../../contract/job-loss.ts";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { listTasksOf } from "../managed-jobs.ts";
import { reasonOf } from "../output/managed-jobs.ts";
import type { World } from "../world.ts";
import type { Chunk, Journal } from "./journal.ts";
import { chunksOf, numbersOf, type Range } from "./ranges.ts";
import { openRecords } from "./records.ts";

/** Jobs whose logs are read at the same time; the others' are read when those have ended. */
const followedAtOnce = 32;

interface Following {
  readonly journal: Journal;
  /** Launches a job for each of these chunks of inputs, and notes them; one id twice is the same launch. */
  readonly launch: (chunks: readonly (readonly Range[])[], id?: string) => Promise<Chunk[]>;
  /** Called whenever something became known. */
  readonly tell: () => void;
}

/** Launches and follows jobs until each input has a result or no try left, but for those of jobs that were cancelled. */
export async function mapInputs(
  world: World,
  { journal, launch, tell }: Following,
  jobs: number,
): Promise<void> {
  for (const [id, chunks] of journal.launches()) await launch(chunks, id);
  const pending = journal.pending();
  if (pending.length > 0) await launch(chunksOf(pending, jobs));
  const queue = journal.jobs();
  let hasFailed = false;
  const work = async () => {
    for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) {
      const left = await followChunk(world, chunk, { journal, tell });
      if (hasFailed) return;
      if (left.length > 0) queue.push(...(await launch(chunksOf(left, 1))));
    }
  };
  const fails = (error: unknown) => {
    hasFailed = true;
    throw error;
  };
  await Promise.all(Array.from({ length: followedAtOnce }, () => work().catch(fails)));
}

/** Follows the log of a job to its end; answers the inputs that are to be tried in another one. */
async function followChunk(
  world: World,
  { job, ranges }: Chunk,
  { journal, tell }: Pick<Following, "journal" | "tell">,
): Promise<number[]> {
  const numbers = numbersOf(ranges);
  const own = new Set(numbers);
  const begun = new Set<number>();
  const records = openRecords(journal.tag, (record) => {
    const { index, kind } = record;
    if (!own.has(index)) return;
    if (kind === "begun") begun.add(index);
    else if (kind === "result") journal.succeed(index, record.text);
    else journal.fail(index, job, record.error);
    tell();
  });
  const client = await world.connect();
  const code = await client.logs(jobOperations.logs, { job_id: job, follow: true }, records);
  if (code === jobExitCodes.NOT_FINISHED)
    fail("RuntimeError", `managed job ${job} has not ended yet; run the same command again`);
  const isCancelled = code === jobExitCodes.CANCELLED;
  const missing = journal.missing(numbers, job);
  if (missing.length > 0 && !isCancelled) {
    const why = await whyEnded(world, job);
    // The input that it was at may be the cause, and all of them where it began none; not of a loss before that.
    const suspects = missing.filter((index) => begun.has(index));
    const isBlameless = suspects.length > 0 || why.endsWith(notRecovered);
    for (const index of isBlameless ? suspects : missing) journal.fail(index, job, why);
  }
  journal.add({ ended: job });
  tell();
  return isCancelled ? [] : journal.toTry(numbers);
}

async function whyEnded(world: World, job: number): Promise<string> {
  const [record] = await listTasksOf(world, job);
  if (record === undefined) return `managed job ${job} is not known any more`;
  return `managed job ${job} ended as ${record.status} before: ${reasonOf(record) ?? "-"}`;
}
