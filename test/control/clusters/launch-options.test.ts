import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: echo hi" };

test("a launch that would change the number of nodes is refused", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(world.run(rows.launch, { ...demo, resize: true }), {
    type: "NotSupportedError",
    message: /^a cluster cannot be resized yet; take it down and launch it with/,
  });
});

test("a fast launch hands its setup in as one that nodes may have already", async (t) => {
  const world = await testWorld(t);
  const task = "setup: echo set up\nrun: echo hi";

  await world.run(rows.launch, { ...demo, task });
  await world.run(rows.launch, { ...demo, task, fast: true });

  const { id } = await world.cluster("demo");
  const submissions = world.provider.agentOf(id).node.jobs.map((job) => job.submission);
  const handedIn = submissions.map(({ setup, reusesSetup }) => [setup, reusesSetup]);
  assert.deepEqual(handedIn, [
    ["echo set up", false],
    ["echo set up", true],
  ]);
});
