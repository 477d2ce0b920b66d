import { AppError } from "../../common/errors.ts";
import type { GivenInputOf } from "../../common/operation.ts";
import { taskOperations } from "../../contract/operations/tasks.ts";
import { openProgress } from "../progress.ts";
import type { World } from "../world.ts";

/** Shows which machines a task would get, where control can tell. */
export async function showPlan(
  world: World,
  dag: string,
  request_options: GivenInputOf<typeof taskOperations.optimize>["request_options"],
): Promise<void> {
  const client = await world.connect();
  const progress = openProgress(world.terminal);
  const input = { dag, request_options };
  await client.callAndStream(taskOperations.optimize, input, progress).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.type !== "NotImplementedError") throw error;
  });
  progress.end("done");
}
