import { AppError } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { type JobStatus, jobExitCodes } from "../../contract/statuses.ts";
import { styleOfStatus } from "../rendering.ts";
import type { Client } from "../sdk.ts";
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
  const status = await endingOf(world, ended);
  if (status === undefined) return;
  const word = status.replace(
    /^FAILED_(.+)$/,
    (_, part: string) => `FAILED (${part.toLowerCase()})`,
  );
  const told = terminal.paintNote(styleOfStatus(status) ?? "bold", `Job ${ended.jobId} ${word}`);
  terminal.note(`${told} on ${terminal.paintNote("bold", ended.cluster)}`);
}

/** The status behind the code. Of a failure it asks for the kind, which a cluster that went cannot tell. */
async function endingOf(world: World, { cluster, jobId, code }: EndedLog) {
  if (code === jobExitCodes.SUCCEEDED) return "SUCCEEDED";
  if (code === jobExitCodes.CANCELLED) return "CANCELLED";
  if (code !== jobExitCodes.FAILED) return undefined;
  const client = await world.connect();
  const input = { cluster_name: cluster, job_ids: [jobId] };
  const statuses = await client
    .callAndGet(clusterOperations.jobStatus, input)
    .catch((error: unknown): Record<string, JobStatus | null> => {
      if (!(error instanceof AppError)) throw error;
      return {};
    });
  return statuses[jobId] ?? "FAILED";
}

/** Says how to come back to a job, and how to be rid of what is left of it. */
export function tellWays({ terminal }: World, { cluster, jobId, code }: EndedLog): void {
  const hint = (label: string, command: string) =>
    terminal.note(`  ${terminal.paintNote("dim", label.padEnd(8))}${command}`);
  hint("logs", `outrigger logs ${cluster} ${jobId}`);
  if (code === jobExitCodes.NOT_FINISHED) hint("cancel", `outrigger cancel ${cluster} ${jobId}`);
  hint("down", `outrigger down ${cluster}`);
}
