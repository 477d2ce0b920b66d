import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { madeUpName, variablesOf } from "../arguments.ts";
import type { TaskOptions } from "../catalog/values.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { missingFiles, requireFolder, type Scope } from "../missing-files.ts";
import { agree, listClusters } from "../selection.ts";
import { inOwnFile, refuseOwn, withSourcePositions } from "../source-positions.ts";
import { updateSshConfig } from "../ssh-config.ts";
import { type Entrypoint, isEmptyTask, localPathsOf, toTaskText } from "../task-text.ts";
import type { SentTask } from "../upload.ts";
import type { World } from "../world.ts";
import { carryOut } from "./carry-out.ts";
import { followJob } from "./following.ts";
import { tellWays } from "./job-ending.ts";
import { showPlan } from "./plan.ts";

type LaunchOptions = OptionsOf<"launch">;

/** `outrigger launch`: a cluster, a job on it, and the job's log. */
export const launch: Command<"launch"> = async (world, operands, options) => {
  const { terminal, settings } = world;
  const source = await entrypointOf(world, operands);
  if (isEmptyTask(source.text)) requireName(world, options);
  const task = await taskOf(world, source, options, options.dryrun ? undefined : "all");
  const cluster = options.cluster ?? madeUpName(settings.userName, randomBytes(2).toString("hex"));
  const asks = terminal.canAsk && !options.yes && !options.dryrun;
  if (asks)
    await withSourcePositions(source, task, () => agreeToLaunch(world, cluster, task, options));

  const title = `${options.dryrun ? "Planning" : "Launching"} ${cluster}`;
  const launched = { ...launchInput(cluster, options), quiet_optimizer: asks };
  const input = { ...launched, ...(await sent(world, task, options)) };
  const more = { title, name: cluster, later: options.async };
  const result = await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, clusterOperations.launch, input, { ...more, reword, tells: tellsJob }),
  );
  if (!options.async && !options.dryrun) await updateSshConfig(world, [cluster]);
  return afterSubmit(world, cluster, result?.job_id, options);
};

/** Throws `UsageError` for a launch that names neither a task nor a cluster. */
function requireName({ terminal }: World, { cluster }: LaunchOptions): void {
  if (cluster === undefined)
    fail(
      "UsageError",
      "name what to launch: a task file, a command, or -c NAME for a cluster without a job",
    );
  terminal.note(`No task given: cluster ${cluster} will run no job.`);
}

/** What a launch or exec tells as JSON. */
export const tellsJob = ({ job_id }: { readonly job_id: number | null }) => ({ job_id });

/** The job's log, or where to find it; 0 when there is no job to follow. */
export async function afterSubmit(
  world: World,
  cluster: string,
  jobId: number | null | undefined,
  { detachRun = false }: { detachRun?: boolean },
): Promise<number> {
  if (jobId === null || jobId === undefined || world.json) return 0;
  const { terminal, signal } = world;
  if (detachRun) {
    terminal.note(`Job ${jobId} on ${terminal.paintNote("bold", cluster)}`);
    tellWays(world, { cluster, jobId, code: jobExitCodes.NOT_FINISHED });
    if (!Number.isFinite(terminal.columns)) terminal.answer(String(jobId));
    return 0;
  }
  const code = await followJob(world, { cluster, jobId });
  if (!signal.aborted) tellWays(world, { cluster, jobId, code });
  return code;
}

/** The task for control, whose local files it then has; a plan needs none of them. */
const sent = (world: World, task: string, { dryrun = false }: LaunchOptions) =>
  dryrun ? { task } : withFiles(world, task, "all");

/** A task for control, which then has the local files that it names. */
export async function withFiles(world: World, text: string, scope: Scope): Promise<SentTask> {
  if (localPathsOf(text).length === 0) return { task: text, file_mounts_blob_id: null };
  const { sendFiles } = await import("../upload.ts");
  return sendFiles(world, text, scope);
}

/** The task as its options have it, whose local files are there where it has a scope. */
export async function taskOf(
  world: World,
  source: Entrypoint,
  options: TaskOptions,
  scope: Scope | undefined,
): Promise<string> {
  const { cwd } = world;
  requireFolder(options.workdir, cwd);
  const env = variablesOf(options.env, options.envFile, world);
  const secrets = variablesOf(options.secret, options.secretFile, world);
  const task = inOwnFile(source, () => toTaskText(source.text, options, { cwd, env, secrets }));
  if (scope !== undefined) {
    const missing = missingFiles(source.text, scope, cwd);
    const own = missing.filter(({ field }) => options.workdir === undefined || field !== "workdir");
    await refuseOwn(source, task, own);
  }
  return task;
}

function launchInput(cluster: string, options: LaunchOptions) {
  return {
    cluster_name: cluster,
    dryrun: options.dryrun ?? false,
    retry_until_up: options.retryUntilUp ?? false,
    idle_minutes_to_autostop: options.idleMinutesToAutostop ?? null,
    down: options.down ?? false,
    no_setup: !options.setup,
    fast: options.fast ?? false,
    cancel_stop: options.cancelStop ?? false,
  };
}

async function agreeToLaunch(
  world: World,
  cluster: string,
  task: string,
  options: LaunchOptions,
): Promise<void> {
  const client = await world.connect();
  const [existing] = await listClusters(client, [cluster]);
  if (existing !== undefined)
    return agree(world, `Run on cluster '${cluster}', which is ${existing.status}?`);
  await showPlan(world, task, {
    cluster_name: cluster,
    idle_minutes_to_autostop: options.idleMinutesToAutostop ?? null,
    down: options.down ?? false,
    dryrun: false,
  });
  await agree(world, `Launch a new cluster '${cluster}'?`);
}
