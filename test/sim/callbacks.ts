import { setTimeout as sleep } from "node:timers/promises";
import type { Script } from "../../control/jobs/callbacks/script.ts";
import type { Clock, Process } from "./clock.ts";

/** What a script of a user is told of a task. */
export interface Told {
  readonly job: number;
  readonly task: number;
  readonly status: string;
}

/** Scripts that take as long, and fail, as they say: `callback 3 exits 1`. */
export const openCallbacks =
  (clock: Clock, began: (told: Told, by: Process, done: Promise<unknown>) => void) =>
  async ({ text, env }: Script, signal: AbortSignal): Promise<string | undefined> => {
    const [seconds, code] = (text.match(/\d+/g) ?? []).map(Number);
    const { JOB_ID: job, TASK_ID: task, JOB_STATUS: status = "" } = env;
    const done = sleep((seconds ?? 0) * 1_000, undefined, { signal });
    const told = { job: Number(job), task: Number(task), status };
    began(
      told,
      clock.process(),
      done.catch(() => {}),
    );
    await done;
    return code === 0 ? undefined : `exited with ${code}`;
  };
