import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld } from "../../helpers/world.ts";

test("a launch makes a cluster, brings it up and runs its task", async (t) => {
  const world = await testWorld(t);

  const result = await world.run(rows.launch, { cluster_name: "demo", task: "run: echo hi" });

  assert.equal(result.job_id, 1);
  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  const { id } = await world.cluster("demo");
  assert.equal(world.provider.agentOf(id).node.jobs[0]?.submission.run, "echo hi");
});
