import { clusterOperations } from "../../contract/operations/clusters.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import { interruptedExit } from "../declined.ts";
import { answerSink } from "../progress.ts";
import { withhold } from "../withheld.ts";
import type { World } from "../world.ts";
import { latestJobId, tellEnding } from "./job-ending.ts";

export interface JobLog {
  readonly cluster: string;
  readonly jobId: number | null;
  readonly follow?: boolean;
  readonly tail?: number;
}

const newline = 10;

/** Shows the log of a job as the answer, then how it ended, which is also the exit code. */
export async function followJob(
  world: World,
  { cluster, jobId: named, follow = true, tail = 0 }: JobLog,
): Promise<number> {
  const { terminal } = world;
  const client = await world.connect();
  const jobId = named ?? (follow ? await latestJobId(client, cluster) : null);
  let endedLine = true;
  const answer = answerSink(terminal);
  const write = (bytes: Buffer) => {
    endedLine = bytes.at(-1) === newline;
    return answer.write(bytes);
  };
  const input = { cluster_name: cluster, job_id: jobId, follow, tail };
  const refusal = `cluster ${cluster} has no job ${jobId}\n`;
  const sink = withhold({ ...answer, write }, (text) => refusal.startsWith(text));
  try {
    const code = await client.logs(clusterOperations.logs, input, sink);
    const isRefused = code === jobExitCodes.NOT_FOUND && sink.text === refusal;
    if (isRefused) terminal.note(`${terminal.paintNote("red", "error:")} ${refusal.trimEnd()}`);
    else await sink.release();
    if (!follow || jobId === null) return code;
    if (!endedLine && terminal.isLive) terminal.note("");
    await tellEnding(world, { cluster, jobId, code });
    return code;
  } catch (error) {
    await sink.release();
    if (!world.signal.aborted) throw error;
    const job = jobId === null ? cluster : `${cluster} ${jobId}`;
    terminal.note(`\nThe job goes on. Come back: outrigger logs ${job}`);
    return interruptedExit;
  }
}
