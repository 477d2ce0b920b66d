import { fail } from "../../common/errors.ts";
import { clusterOperations } from "../../contract/operations/clusters.ts";
import type { Command } from "../catalog.ts";
import { entrypointOf } from "../entrypoint.ts";
import { withSourcePositions } from "../source-positions.ts";
import { carryOut } from "./carry-out.ts";
import { afterSubmit, taskOf, tellsJob, withFiles } from "./launch.ts";

/** `outrigger exec`: one more job on a cluster that is up. */
export const exec: Command<"exec"> = async (world, operands, options) => {
  const [cluster, words] =
    options.cluster === undefined ? [operands[0], operands.slice(1)] : [options.cluster, operands];
  if (cluster === undefined) fail("UsageError", "name the cluster: outrigger exec CLUSTER TASK");
  if (words.length === 0)
    fail("UsageError", `name what to run on ${cluster}: a task file or a command`);
  const source = await entrypointOf(world, words);
  const task = await taskOf(world, source, options, "workdir");
  const input = {
    ...(await withFiles(world, task, "workdir")),
    cluster_name: cluster,
    cancel_stop: options.cancelStop ?? false,
  };
  const more = { title: `Submitting to ${cluster}`, name: cluster, later: options.async };
  const result = await withSourcePositions(source, input.task, (reword) =>
    carryOut(world, clusterOperations.exec, input, { ...more, reword, tells: tellsJob }),
  );
  return afterSubmit(world, cluster, result?.job_id, options);
};
