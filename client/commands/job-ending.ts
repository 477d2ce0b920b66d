import { AppError } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { ClusterJobRecord } from "../../contract/records/clusters.ts";
import { type JobStatus, jobExitCodes } from "../../contract/statuses.ts";
import { styleOfStatus } from "../rendering.ts";
import type { Client } from "../sdk.ts";
import { tellCommands } from "../ways.ts";
import type { World } from "../world.ts";

/** A job whose log came to its end with this code. */
export interface EndedLog {
  readonly cluster: string;
  readonly jobId: number;
  readonly code: number;
}

/** The id of the job that was submitted last; throws `JobNotFoundError` when there is none. */
export async function latestJobId(client: Client, cluster: string): Promise<number | null> {
  const input = { cluster_name: cluster, job_ids: null };
  const [id] = Object.keys(await client.callAndGet(clusterOperations.jobStatus, input));
  return id === undefined ? null : Number(id);
}

/** Says how a job ended; nothing about one that did not. */
export async function tellEnding(world: World, ended: EndedLog): Promise<void> {
  const { terminal } = world;
  const ending = await endingOf(world, ended);
  if (ending === undefined) return;
  const { status, reason } = ending;
  const word = status.replace(
    /^FAILED_(.+)$/,
    (_, part: string) => `FAILED (${part.toLowerCase()})`,
  );
  const told = terminal.paintNote(styleOfStatus(status) ?? "bold", `Job ${ended.jobId} ${word}`);
  const why = reason === undefined ? "" : `: ${reason}`;
  terminal.note(`${told} on ${terminal.paintNote("bold", ended.cluster)}${why}`);
}

interface Ending {
  readonly status: JobStatus;
  readonly reason?: string;
}

/** The status behind the code. Of a failure it asks for kind and reason, which a cluster that went cannot tell. */
async function endingOf(
  world: World,
  { cluster, jobId, code }: EndedLog,
): Promise<Ending | undefined> {
  if (code === jobExitCodes.SUCCEEDED) return { status: "SUCCEEDED" };
  if (code === jobExitCodes.CANCELLED) return { status: "CANCELLED" };
  if (code !== jobExitCodes.FAILED) return undefined;
  const client = await world.connect();
  const input = { cluster_name: cluster, skip_finished: false, all_users: true };
  const jobs = await client
    .callAndGet(clusterOperations.queue, input)
    .catch((error: unknown): ClusterJobRecord[] => {
      if (!(error instanceof AppError)) throw error;
      return [];
    });
  const job = jobs.find(({ job_id: id }) => id === jobId);
  const reason = job?.metadata["reason"];
  return {
    status: job?.status ?? "FAILED",
    ...(typeof reason === "string" && { reason }),
  };
}

/** Says how to come back to a job, and how to be rid of what is left of it. */
export function tellWays({ terminal }: World, { cluster, jobId, code }: EndedLog): void {
  const isOpen = code === jobExitCodes.NOT_FINISHED;
  tellCommands(terminal, [
    ["logs", `outrigger logs ${cluster} ${jobId}`],
    ...(isOpen ? ([["cancel", `outrigger cancel ${cluster} ${jobId}`]] as const) : []),
    ["down", `outrigger down ${cluster}`],
  ]);
}
