import type { GivenInputOf, Operation, OutputOf } from "../../common/operation.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import { interruptedExit } from "../declined.ts";
import { openProgress } from "../progress.ts";
import type { RequestId } from "../sdk.ts";
import type { World } from "../world.ts";
import { latestJobId, tellEnding } from "./job-ending.ts";

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
  return followRequest(world, id, { title, deed: deedOf(row) });
}

/** What the operation does, in a word: `launch`. */
const deedOf = ({ name }: Operation) => name.split(/[._]/).at(-1) ?? name;

async function followRequest<T>(
  world: World,
  id: RequestId<T>,
  { title, deed }: { title: string; deed: string },
): Promise<T> {
  const client = await world.connect();
  const progress = openProgress(world.terminal);
  progress.step(title);
  try {
    await client.stream(id, progress);
    const result = await client.get(id);
    progress.end("done");
    return result;
  } catch (error) {
    progress.end(world.signal.aborted ? "left" : "failed");
    if (world.signal.aborted)
      world.terminal.note(`The ${deed} goes on; follow it: outrigger api logs ${shortId(id)}`);
    throw error;
  }
}

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
  const write = (bytes: Uint8Array) => {
    endedLine = bytes.at(-1) === newline;
    return terminal.write(bytes);
  };
  const input = { cluster_name: cluster, job_id: jobId, follow, tail };
  try {
    const code = await client.logs(clusterOperations.logs, input, { write, control: () => {} });
    if (!follow || jobId === null) return code;
    if (!endedLine && terminal.isLive) terminal.note("");
    await tellEnding(world, { cluster, jobId, code });
    return code;
  } catch (error) {
    if (!world.signal.aborted) throw error;
    const job = jobId === null ? cluster : `${cluster} ${jobId}`;
    terminal.note(`\nThe job goes on. Come back: outrigger logs ${job}`);
    return interruptedExit;
  }
}

/** The beginning of a request's id, which control takes for the whole. */
export const shortId = (id: string): string => id.slice(0, 8);
