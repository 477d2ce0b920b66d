import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { jobIdsOf } from "../arguments.ts";
import type { Command, OptionsOf } from "../catalog.ts";
import { openLogSink } from "../log-lines.ts";
import { jobStatusForm } from "../output/jobs.ts";
import { styleOfStatus } from "../rendering.ts";
import type { World } from "../world.ts";
import { answerJson } from "./answers.ts";
import { followJob } from "./following.ts";
import { hookLogChoice, showHookLog } from "./hook-logs.ts";
import { syncDown } from "./sync-down.ts";

type LogsOptions = OptionsOf<"logs">;

/** `outrigger logs`. */
export const logs: Command<"logs"> = async (world, operands, options) => {
  const { follow = true, tail = 0, worker = null, hook, grep, since, timestamps } = options;
  if (hook !== undefined) {
    refuseBeside("--hook", options, besideHook);
    return showHookLog(world, hookLogChoice(hook, operands), { follow, tail, grep });
  }
  const [cluster, ...words] = operands;
  if (cluster === undefined) fail("UsageError", "name the cluster: outrigger logs CLUSTER");
  const client = await world.connect();
  const sink = openLogSink(world, { grep, of: { cluster } });
  const jobIds = jobIdsOf(words);
  if (options.provision) refuseBeside("--provision", options, ofJobs);
  if (options.autostop) refuseBeside("--autostop", options, ofJobs);
  if (options.provision) {
    const input = { cluster_name: cluster, worker, follow: String(follow), tail };
    return client.logs(clusterOperations.provisionLogs, input, sink).finally(sink.end);
  }
  if (options.autostop) {
    const input = { cluster_name: cluster, autostop: true, follow, tail };
    return client.callAndStream(clusterOperations.hookLogs, input, sink).finally(sink.end);
  }
  if (options.status) return answerStatus(world, cluster, jobIds);
  if (options.syncDown) return syncDown(world, cluster, jobIds);
  if (jobIds.length > 1) fail("UsageError", "one job at a time; several only with --sync-down");
  return followJob(world, {
    cluster,
    jobId: jobIds[0] ?? null,
    follow,
    tail,
    grep,
    since,
    timestamps,
  });
};

/** Options for the logs of jobs alone. */
const ofJobs = { since: "--since", timestamps: "--timestamps" } as const;

/** Options that ask for something else than the log of hooks. */
const besideHook = {
  ...ofJobs,
  status: "--status",
  provision: "--provision",
  syncDown: "--sync-down",
  worker: "--worker",
  autostop: "--autostop",
} as const;

type Flags = Partial<Record<keyof LogsOptions, string>>;

function refuseBeside(shown: string, options: LogsOptions, flags: Flags): void {
  const given = Object.entries(flags).flatMap(([name, flag]) =>
    options[name as keyof LogsOptions] === undefined ? [] : [flag],
  );
  if (given.length > 0) fail("UsageError", `${given.join(" and ")} cannot be used with ${shown}`);
}

/** What an ended job means for the exit code; one that goes on is not finished. */
const exitOfStatus: Readonly<Record<string, number>> = {
  SUCCEEDED: jobExitCodes.SUCCEEDED,
  FAILED: jobExitCodes.FAILED,
  FAILED_SETUP: jobExitCodes.FAILED,
  FAILED_DRIVER: jobExitCodes.FAILED,
  CANCELLED: jobExitCodes.CANCELLED,
};

async function answerStatus(
  world: World,
  cluster: string,
  jobIds: readonly number[],
): Promise<number> {
  const { terminal } = world;
  const client = await world.connect();
  const input = { cluster_name: cluster, job_ids: jobIds.length > 0 ? [...jobIds] : null };
  const statuses = await client.callAndGet(clusterOperations.jobStatus, input);
  const shown = Object.entries(statuses).map(([id, status]) => {
    const style = status === null ? undefined : styleOfStatus(status);
    const word = status ?? "NOT_FOUND";
    return `Job ${id}: ${style === undefined ? word : terminal.paint(style, word)}`;
  });
  const rows = Object.entries(statuses).map(([id, status]) => ({
    cluster,
    id: Number(id),
    status,
  }));
  if (world.json) answerJson(world, {}, jobStatusForm, rows);
  else terminal.answer(shown.join("\n"));
  const codes = Object.values(statuses).map((status) =>
    status === null ? jobExitCodes.NOT_FOUND : (exitOfStatus[status] ?? jobExitCodes.NOT_FINISHED),
  );
  return codes.find((code) => code !== 0) ?? 0;
}
