import { readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError, fail } from "../../common/errors.ts";
import { ifMissing, makeFolder, orNothing } from "../../common/files.ts";
import { agentOperations as api } from "../../contract/agent-api.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import { jobMachine } from "../../contract/statuses.ts";
import { findCluster } from "../clusters/store.ts";
import type { Context } from "../context.ts";
import type { Agent } from "../doors/agent.ts";
import { openSilence } from "../doors/silence.ts";
import type { Ground } from "../ground.ts";
import { copyStateOf, saveFlushed } from "../log-copy.ts";
import { attemptLogOf, taskFolder } from "./folders.ts";
import { copyWhole, type Growing, patienceMs, silentMs } from "./log-reads.ts";
import { taskOfSubmission } from "./schema.ts";
import { findTask } from "./store.ts";

/** The ends of logs that could not be copied before their attempts were dropped. */

/** Which job on which cluster the rest of a log is of. */
interface Rest {
  readonly clusterId: string;
  readonly jobId: number;
}

const jobsAtMost = 1_000;
/** For so long a node is kept for them at most. */
const restMs = 300_000;
const betweenTriesMs = 1_000;
const restOf = (file: string): string => file.replace(/log$/, "rest");

/** Notes where the rest of a log lies, unless all of it is here. */
export async function noteRest(ctx: Ground, { taskId, file, ...log }: Growing): Promise<void> {
  if (log.isWhole || (await copyStateOf(file)).isWhole) return;
  const rest: Rest = { clusterId: log.clusterId, jobId: log.jobId };
  try {
    await makeFolder(dirname(file));
    await saveFlushed(restOf(file), rest);
  } catch (err) {
    ctx.log.warn({ err, taskId }, "the rest of a log will not be fetched");
  }
}

/** Whether the end of a log could not be copied, and was not since. */
export const lacksRest = async (file: string): Promise<boolean> =>
  (await orNothing(readFile(restOf(file)))) !== undefined && !(await copyStateOf(file)).isWhole;

/**
 * Ends what attempts that were lost with this cluster still run, and copies the rest of their logs, if its agent runs.
 * Tries again for a while what the agent does not answer; rejects only on abort.
 */
export async function copyRest(
  ctx: Context,
  clusterId: string,
  head: Agent,
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(restMs)]);
  try {
    while (!(await copyRests(ctx, clusterId, head, limit)))
      await sleep(betweenTriesMs, undefined, { signal: limit });
  } catch (err) {
    signal.throwIfAborted();
    ctx.log.warn({ err, clusterId }, "the ends of logs of managed jobs are lost");
  }
}

/** A log that cannot be copied costs no other one; false where one may be copied if it is tried again. */
async function copyRests(
  ctx: Context,
  clusterId: string,
  head: Agent,
  signal: AbortSignal,
): Promise<boolean> {
  const options = { signal, timeoutMs: patienceMs };
  const jobs = await head.call(api.listJobs, { limit: `${jobsAtMost}` }, options);
  let isDone = true;
  for (const taskId of await listTaskIds(ctx, clusterId, jobs))
    for (const log of await listRests(ctx, taskId, clusterId))
      try {
        requireSame(log, jobs);
        await copyOne(ctx, log, head, signal);
      } catch (err) {
        signal.throwIfAborted();
        ctx.log.warn({ err, taskId }, "the end of the log of a managed job was not copied");
        if (err instanceof AppError && err.type === "UnreachableError") isDone = false;
      }
  return isDone;
}

/** Another machine may be the head by now, and count its jobs anew. */
function requireSame({ taskId, file, clusterId, jobId }: Growing, jobs: readonly Job[]): void {
  const { submissionId = "" } = jobs.find(({ id }) => id === jobId) ?? {};
  const ofWorker = basename(file, ".log").replace("attempt", taskId);
  if (![clusterId, ofWorker].includes(submissionId))
    fail("JobNotFoundError", `job ${jobId} of the node is not the one that was handed in`);
}

async function copyOne(ctx: Context, log: Growing, head: Agent, signal: AbortSignal) {
  const options = { signal, timeoutMs: patienceMs };
  const { status } = await head.call(api.cancelJob, { id: log.jobId }, options);
  using silence = openSilence(silentMs, signal);
  const { heard, signal: until } = silence;
  await copyWhole(ctx, log, head, { isOver: jobMachine.isFinal(status), heard, signal: until });
  await rm(restOf(log.file), { force: true });
}

/** The tasks that a cluster was made for; a worker itself says which ones it had. */
async function listTaskIds(
  ctx: Context,
  clusterId: string,
  jobs: readonly Job[],
): Promise<string[]> {
  const { madeFor } = (await findCluster(ctx.db, clusterId)) ?? {};
  if (madeFor?.noun === "managed_job") return [madeFor.id];
  if (madeFor?.noun !== "replica") return [];
  return [...new Set(jobs.map(({ submissionId }) => taskOfSubmission(submissionId)))];
}

async function listRests(ctx: Context, taskId: string, clusterId: string): Promise<Growing[]> {
  const task = await findTask(ctx.db, taskId);
  if (task === undefined) return [];
  const logs: Growing[] = [];
  const add = (file: string, { jobId, ...rest }: Rest) =>
    rest.clusterId === clusterId && logs.push({ taskId, file, clusterId, jobId, isBehind: false });
  const folder = taskFolder(ctx, taskId);
  for (const name of await readdir(folder).catch(ifMissing([]))) {
    if (!name.endsWith(".rest")) continue;
    try {
      const text = await readFile(join(folder, name), "utf8");
      add(join(folder, name.replace(/rest$/, "log")), JSON.parse(text));
    } catch (err) {
      ctx.log.warn({ err, taskId, name }, "nobody knows where the rest of a log is");
    }
  }
  // It may not have been dropped yet.
  const { attempt, clusterId: of, clusterJob: jobId } = task;
  const file = attemptLogOf(ctx, taskId, attempt);
  if (of === null || jobId === null || logs.some((one) => one.file === file)) return logs;
  if (!(await copyStateOf(file)).isWhole) add(file, { clusterId: of, jobId });
  return logs;
}
