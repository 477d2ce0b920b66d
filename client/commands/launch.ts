import { randomBytes } from "node:crypto";
import { AppError, fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { madeUpName, type TaskOptions, variablesOf } from "../arguments.ts";
import { openProgress } from "../progress.ts";
import { agree, listClusters } from "../selection.ts";
import { isLocal } from "../settings.ts";
import { isEmptyTask, localPathsOf, readEntrypoint, toTaskText } from "../task-text.ts";
import type { World } from "../world.ts";
import { carryOut, followJob } from "./following.ts";
import { tellWays } from "./job-ending.ts";

export interface LaunchOptions extends TaskOptions {
  readonly cluster?: string;
  readonly detachRun?: boolean;
  readonly yes?: boolean;
  readonly dryrun?: boolean;
  readonly idleMinutesToAutostop?: number;
  readonly down?: boolean;
  readonly retryUntilUp?: boolean;
  readonly setup: boolean;
  readonly fast?: boolean;
  readonly async?: boolean;
}

/** `outrigger launch`: a cluster, a job on it, and the job's log. */
export async function launch(
  world: World,
  operands: readonly string[],
  options: LaunchOptions,
): Promise<number> {
  const { terminal, settings } = world;
  const source = readEntrypoint(operands, world.cwd);
  if (isEmptyTask(source)) requireName(world, options);
  const task = taskOf(world, source, options);
  const cluster = options.cluster ?? madeUpName(settings.userName, randomBytes(2).toString("hex"));
  const asks = terminal.canAsk && !options.yes && !options.dryrun;
  if (asks) await agreeToLaunch(world, cluster, task, options);

  const title = `${options.dryrun ? "Planning" : "Launching"} ${cluster}`;
  const input = launchInput(cluster, task, options);
  const more = { title, later: options.async };
  const result = await carryOut(world, clusterOperations.launch, input, more);
  return afterSubmit(world, cluster, result?.job_id, options);
}

/** Throws `UsageError` for a launch that names neither a task nor a cluster. */
function requireName({ terminal }: World, { cluster }: LaunchOptions): void {
  if (cluster === undefined)
    fail(
      "UsageError",
      "say what to launch: a task (file or command), or -c NAME for a bare cluster",
    );
  terminal.note(`No task: ${cluster} is provisioned, and nothing runs on it.`);
}

/** The job's log, or where to find it; 0 when there is no job to follow. */
export async function afterSubmit(
  world: World,
  cluster: string,
  jobId: number | null | undefined,
  { detachRun = false }: { detachRun?: boolean },
): Promise<number> {
  if (jobId === null || jobId === undefined) return 0;
  const { terminal, signal } = world;
  if (detachRun) {
    terminal.note(`Job ${jobId} on ${terminal.paintNote("bold", cluster)}`);
    tellWays(world, { cluster, jobId, code: jobExitCodes.NOT_FINISHED });
    terminal.answer(String(jobId));
    return 0;
  }
  const code = await followJob(world, { cluster, jobId });
  if (!signal.aborted) tellWays(world, { cluster, jobId, code });
  return code;
}

/** The task as it is sent. Throws for local files that the control plane could not see. */
export function taskOf(world: World, source: string, options: TaskOptions): string {
  const { cwd, settings } = world;
  const env = variablesOf(options.env, options.envFile, world);
  const secrets = variablesOf(options.secret, options.secretFile, world);
  const text = toTaskText(source, options, { cwd, env, secrets });
  const [path] = isLocal(settings.endpoint) ? [] : localPathsOf(text);
  if (path !== undefined)
    fail(
      "NotSupportedError",
      `${path} is on this machine and ${settings.endpoint} is not; name a git repository or a bucket`,
    );
  return text;
}

function launchInput(cluster: string, task: string, options: LaunchOptions) {
  return {
    task,
    cluster_name: cluster,
    dryrun: options.dryrun ?? false,
    retry_until_up: options.retryUntilUp ?? false,
    idle_minutes_to_autostop: options.idleMinutesToAutostop ?? null,
    down: options.down ?? false,
    no_setup: !options.setup,
    fast: options.fast ?? false,
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
  await showPlan(world, cluster, task, options);
  await agree(world, `Launch a new cluster '${cluster}'?`);
}

/** Shows which machines the task would get, where control can tell. */
async function showPlan(world: World, cluster: string, task: string, options: LaunchOptions) {
  const client = await world.connect();
  const request_options = {
    cluster_name: cluster,
    idle_minutes_to_autostop: options.idleMinutesToAutostop ?? null,
    down: options.down ?? false,
    dryrun: false,
  };
  const progress = openProgress(world.terminal);
  const input = { dag: task, request_options };
  await client.callAndStream(taskOperations.optimize, input, progress).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.type !== "NotImplementedError") throw error;
  });
  progress.end("done");
}
