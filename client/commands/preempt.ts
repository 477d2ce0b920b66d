import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { Command } from "../catalog.ts";
import { agree } from "../selection.ts";
import { carryOut } from "./carry-out.ts";

const usualNoticeSeconds = 30;

/** `outrigger preempt`. */
export const preempt: Command<"preempt"> = async (
  world,
  [cluster],
  { node, notice, lose = false, yes = false, async: later },
) => {
  if (cluster === undefined) fail("UsageError", "name the cluster: outrigger preempt CLUSTER");
  if (lose && notice !== undefined)
    fail("UsageError", "pass --notice or --lose, not both; --lose sends no notice");
  const what = node === undefined ? `the nodes of ${cluster}` : `node ${node} of ${cluster}`;
  if (!yes) await agree(world, `Take ${what} away, with everything on them?`, { isFinal: true });
  const input = {
    ...{ cluster_name: cluster, rank: node ?? null, lose },
    notice_seconds: notice ?? usualNoticeSeconds,
  };
  const title = `Taking ${what} away`;
  await carryOut(world, clusterOperations.preempt, input, { title, name: cluster, later });
};
