import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld } from "../../helpers/world.ts";
import { name } from "./hooked-cluster.ts";

const task = "run: echo hi";

test("clusters whose machines take long hold up no teardown of another one", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task });
  const release = world.provider.holds("create");
  const slow = Array.from({ length: 64 }, (_, index) => ({ cluster_name: `slow-${index}`, task }));
  const launches = await Promise.all(slow.map((input) => world.call(rows.launch, input)));
  await world.provider.held("create");

  await world.run(rows.down, name);

  assert.equal((await world.cluster("demo")).status, "GONE");
  release();
  await Promise.all(launches.map((id) => world.get(rows.launch, id)));
});

test("a launch that waits for its machine is taken down at once, and leaves nothing", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launch = await world.call(rows.launch, { ...name, task });
  await world.provider.held("create");

  const down = await world.call(rows.down, name);
  release();
  await world.get(rows.down, down);

  await assert.rejects(world.get(rows.launch, launch), { type: "ClusterNotUpError" });
  assert.deepEqual(await world.moves("demo"), ["INIT>GONE"]);
  assert.equal(world.provider.machines.size, 0);
});
