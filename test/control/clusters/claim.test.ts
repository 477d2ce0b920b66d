import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { readTask, type Task } from "../../../contract/task.ts";
import { refuseMismatch } from "../../../control/clusters/claim.ts";
import { aCluster } from "../../helpers/clusters.ts";
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

test("a task fits an adopted cluster, which has the whole name of its image", () => {
  const image = { kind: "container", name: "registry.example/team/app:1" } as const;
  const cluster = aCluster({ machine: { image } });
  const names = { USERNAME: "ann", PASSWORD: "hunter2", SERVER: "registry.example" };
  const login = Object.entries(names).map(([key, value]) => `SKYPILOT_DOCKER_${key}: ${value}`);
  const taskWith = (name: string): Task => {
    const text = `resources: {image_id: "docker:${name}"}\nsecrets: {${login.join(", ")}}`;
    const reading = readTask(text);
    return (reading.ok && reading.document.tasks[0]) || assert.fail("no task");
  };

  refuseMismatch(cluster, taskWith("team/app:1"));
  refuseMismatch(cluster, taskWith("registry.example/team/app:1"));
  assert.throws(() => refuseMismatch(cluster, taskWith("team/app:2")), {
    type: "ResourcesMismatchError",
  });
});
