import { poolOperations } from "../../contract/operations/pools.ts";
import { jobIdsOf } from "../arguments.ts";
import { openLogSink } from "../log-lines.ts";
import type { World } from "../world.ts";

interface LogsOptions {
  readonly controller?: boolean;
  readonly follow?: boolean;
  readonly tail?: number;
  readonly grep?: RegExp;
}

/** `outrigger jobs pool logs`. */
export async function poolLogs(
  world: World,
  [name = "", ...words]: readonly string[],
  { controller = false, follow = true, tail, grep }: LogsOptions,
): Promise<number> {
  const worker = controller ? null : (jobIdsOf(words)[0] ?? null);
  const target = worker === null ? ("controller" as const) : ("replica" as const);
  const client = await world.connect();
  const sink = openLogSink(world, { grep, of: { service: name, replica: worker } });
  const input = { pool_name: name, target, worker_id: worker, follow, tail: tail ?? null };
  return client.logs(poolOperations.logs, input, sink).finally(sink.end);
}
