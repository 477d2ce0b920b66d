import { AppError } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { interruptedExit } from "../declined.ts";
import { deferSink } from "../deferred-sink.ts";
import { errorForm } from "../error-form.ts";
import type { Sink } from "../follow.ts";
import { openLogSink } from "../log-lines.ts";
import type { Client } from "../sdk.ts";
import type { World } from "../world.ts";
import { latestJobId, tellEnding } from "./job-ending.ts";

export interface JobLog {
  readonly cluster: string;
  readonly jobId: number | null;
  readonly follow?: boolean;
  readonly tail?: number;
  readonly grep?: RegExp | undefined;
  /** Unix seconds. */
  readonly since?: number | undefined;
  readonly timestamps?: boolean | undefined;
}

const newline = 10;

/** Shows the log of a job as the answer, then how it ended, which is also the exit code. */
export async function followJob(
  world: World,
  { cluster, jobId: named, follow = true, tail = 0, grep, since, timestamps }: JobLog,
): Promise<number> {
  const { terminal } = world;
  const client = await world.connect();
  const jobId = named ?? (follow ? await latestJobIdIfUp(client, cluster) : null);
  let endedLine = true;
  const of = { cluster, job_id: jobId };
  const answer = withWaits(world, openLogSink(world, { grep, timestamps, of }));
  const write = (bytes: Buffer) => {
    endedLine = bytes.at(-1) === newline;
    return answer.write(bytes);
  };
  const input = {
    ...{ cluster_name: cluster, job_id: jobId, follow, tail },
    ...{ since: since ?? null, timestamps: timestamps || world.json },
  };
  const refusal = `cluster ${cluster} has no job ${jobId}\n`;
  const sink = deferSink({ ...answer, write }, (text) => refusal.startsWith(text));
  try {
    const code = await client.logs(clusterOperations.logs, input, sink);
    const isRefused = code === jobExitCodes.NOT_FOUND && sink.text === refusal;
    if (isRefused) tellMissing(world, refusal, code);
    else await sink.release();
    await answer.end();
    if (!follow || jobId === null) return code;
    if (!endedLine && terminal.isLive) terminal.note("");
    await tellEnding(world, { cluster, jobId, code });
    return code;
  } catch (error) {
    await sink.release();
    await answer.end();
    if (!world.signal.aborted) throw error;
    const job = jobId === null ? cluster : `${cluster} ${jobId}`;
    terminal.note(`\nThe job keeps running. Follow it again: outrigger logs ${job}`);
    return interruptedExit;
  }
}

/** Null also of a cluster that is off or gone: control knows the latest job of which it has a copy. */
const latestJobIdIfUp = (client: Client, cluster: string): Promise<number | null> =>
  latestJobId(client, cluster).catch((error: unknown) => {
    const isOff =
      error instanceof AppError &&
      ["ClusterNotUpError", "ClusterDoesNotExist"].includes(error.type);
    if (isOff) return null;
    throw error;
  });

/** Says that there is no such job, which ends as logs do; answers the exit code. */
export function tellMissing({ terminal, json }: World, text: string, code: number): number {
  const message = text.trimEnd();
  const { error } = errorForm(new AppError("JobNotFoundError", message));
  if (json) terminal.warn(JSON.stringify({ error: { ...error, exit_code: code } }));
  else terminal.warn(`${terminal.paintNote("red", "error:")} ${message}`);
  return code;
}

/** Shows on the side what a job waits for, before its log begins and between its attempts. */
export const withWaits = <S extends Sink>({ terminal }: World, sink: S): S => ({
  ...sink,
  control(code: string, message: string) {
    if (code === "rich_update") terminal.note(terminal.paintNote("dim", message));
    else sink.control(code, message);
  },
});
