import type { GivenInputOf, Operation, OutputOf } from "../../common/operation.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { interruptedExit } from "../declined.ts";
import { openProgress } from "../progress.ts";
import type { Client, RequestId } from "../sdk.ts";
import type { World } from "../world.ts";

/**
 * Sends an operation and shows its steps until it is done; its result. With `later` it prints the
 * id of the request instead, and returns undefined.
 */
export async function carryOut<Op extends Operation>(
  world: World,
  row: Op,
  input: GivenInputOf<Op>,
  { title, later = false }: { title: string; later?: boolean | undefined },
): Promise<OutputOf<Op> | undefined> {
  const client = await world.connect();
  const id = (await client.call(row, input)) as RequestId<OutputOf<Op>>;
  if (later) {
    world.terminal.answer(id);
    world.terminal.note(`Follow it: outrigger api logs ${shortId(id)}`);
    return undefined;
  }
  return followRequest(world, client, id, title);
}

async function followRequest<T>(
  world: World,
  client: Client,
  id: RequestId<T>,
  title: string,
): Promise<T> {
  const progress = openProgress(world.terminal);
  progress.step(title);
  try {
    await client.stream(id, progress);
    const result = await client.get(id);
    progress.end(true);
    return result;
  } catch (error) {
    progress.end(false);
    if (world.signal.aborted)
      world.terminal.note(`It goes on. Follow it: outrigger api logs ${shortId(id)}`);
    throw error;
  }
}

export interface JobLog {
  readonly cluster: string;
  readonly jobId: number | null;
  readonly follow?: boolean;
  readonly tail?: number;
}

/** Shows the log of a job as the answer; the exit code tells how the job ended. */
export async function followJob(
  world: World,
  { cluster, jobId, follow = true, tail = 0 }: JobLog,
): Promise<number> {
  const client = await world.connect();
  const input = { cluster_name: cluster, job_id: jobId, follow, tail };
  const sink = {
    write: (bytes: Uint8Array) => world.terminal.write(bytes),
    control: () => {},
  };
  try {
    return await client.logs(clusterOperations.logs, input, sink);
  } catch (error) {
    if (!world.signal.aborted) throw error;
    const job = jobId === null ? cluster : `${cluster} ${jobId}`;
    world.terminal.note(`\nThe job goes on. Come back: outrigger logs ${job}`);
    return interruptedExit;
  }
}

/** Says how to come back to a job, and how to be rid of it. */
export function tellJob({ terminal }: World, cluster: string, jobId: number): void {
  const hint = (label: string, command: string) =>
    terminal.note(`  ${terminal.paintNote("dim", label.padEnd(8))}${command}`);
  terminal.note(`Job ${jobId} on ${terminal.paintNote("bold", cluster)}`);
  hint("logs", `outrigger logs ${cluster} ${jobId}`);
  hint("cancel", `outrigger cancel ${cluster} ${jobId}`);
  hint("down", `outrigger down ${cluster}`);
}

/** The beginning of a request's id, which control takes for the whole. */
export const shortId = (id: string): string => id.slice(0, 8);
