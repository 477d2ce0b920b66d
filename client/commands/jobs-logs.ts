import { jobOperations } from "../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../contract/statuses.ts";
import type { OptionsOf } from "../catalog.ts";
import { interruptedExit } from "../declined.ts";
import { deferSink } from "../deferred-sink.ts";
import { openLogSink } from "../log-lines.ts";
import { idOfNamed, namedJob, tellJob } from "../managed-jobs.ts";
import type { World } from "../world.ts";
import { tellMissing, withWaits } from "./following.ts";

type LogsOptions = OptionsOf<"jobs logs">;

/** `outrigger jobs logs`. */
export const jobsLogs = (
  world: World,
  words: readonly string[],
  { name, ...options }: LogsOptions,
): Promise<number> => followManagedJob(world, namedJob(words, name), options);

/** How a text begins that says that there is no such job. */
const refusals = ["there is no managed job ", "you have no managed job yet"];
const mayRefuse = (text: string): boolean =>
  refusals.some((one) => one.startsWith(text) || text.startsWith(one));

/** Shows the log of a managed job as the answer, then how the job fares, which is also the exit code. */
export async function followManagedJob(
  world: World,
  named: ReturnType<typeof namedJob>,
  { follow = true, tail = 0, controller = false, grep }: Omit<LogsOptions, "name"> = {},
): Promise<number> {
  const { terminal } = world;
  const client = await world.connect();
  const id = (await idOfNamed(world, named)) ?? null;
  const answer = withWaits(world, openLogSink(world, { grep, of: { job_id: id } }));
  const sink = deferSink(answer, mayRefuse);
  const input = {
    ...named,
    ...(id !== null && { job_id: id, name: null }),
    follow,
    tail,
    controller,
  };
  try {
    const code = await client.logs(jobOperations.logs, input, sink);
    const refusal = code === jobExitCodes.NOT_FOUND ? sink.text : "";
    if (refusal !== "") return tellMissing(world, refusal, code);
    await sink.release();
    await answer.end();
    if (follow && id !== null) await tellJob(world, id);
    return code;
  } catch (error) {
    await sink.release();
    await answer.end();
    if (!world.signal.aborted) throw error;
    terminal.note(`\nThe job keeps running. Follow it again: outrigger jobs logs ${id ?? ""}`);
    return interruptedExit;
  }
}
