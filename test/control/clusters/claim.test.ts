import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: echo hi" };

test("a launch on a cluster that is up makes no node", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);

  const result = await world.run(rows.launch, demo);

  assert.equal(result.job_id, 2);
  assert.deepEqual(world.provider.calls, ["create 0"]);
});

test("a cluster is used again although the cloud has nothing more to offer", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);

  world.provider.offer = undefined;

  assert.equal((await world.run(rows.launch, demo)).job_id, 2);
});

test("a task that does not fit the cluster of that name is refused", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const misfits = [
    "num_nodes: 2",
    "resources: {accelerators: A100:1}",
    "resources: {accelerators: H100:16}",
    "resources: {cpus: 64+}",
    "resources: {memory: 1000+}",
    "resources: {infra: ssh/pool}",
  ];
  for (const task of misfits)
    await assert.rejects(world.run(rows.launch, { ...demo, task: `${task}\nrun: 'true'` }), {
      type: "ResourcesMismatchError",
    });

  assert.deepEqual(world.provider.calls, ["create 0"]);
});

test("a task that asks for more nodes than there are is told so in plain words", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  const refusals = [
    ["num_nodes: 5", /, the task asks for 5 nodes; take/],
    ["num_nodes: 5\nresources: {cpus: 64}", /, the task asks for 5 nodes with 64 CPUs; take/],
  ] as const;

  for (const [task, message] of refusals)
    await assert.rejects(world.run(rows.launch, { ...demo, task: `${task}\nrun: 'true'` }), {
      message,
    });
});
