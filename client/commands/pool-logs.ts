import { poolOperations } from "../../contract/operations/pools.ts";
import { jobIdsOf } from "../arguments.ts";
import type { Command } from "../catalog.ts";
import { openLogSink } from "../log-lines.ts";

/** `outrigger jobs pool logs`. */
export const poolLogs: Command<"jobs pool logs"> = async (
  world,
  [name = "", ...words],
  { controller = false, follow = true, tail, grep },
) => {
  const worker = controller ? null : (jobIdsOf(words)[0] ?? null);
  const target = worker === null ? ("controller" as const) : ("replica" as const);
  const client = await world.connect();
  const sink = openLogSink(world, { grep, of: { service: name, replica: worker } });
  const input = { pool_name: name, target, worker_id: worker, follow, tail: tail ?? null };
  return client.logs(poolOperations.logs, input, sink).finally(sink.end);
};
