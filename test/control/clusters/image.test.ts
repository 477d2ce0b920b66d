import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listLifecycles } from "../../../control/clusters/lifecycles/store.ts";
import { testWorld } from "../../helpers/world.ts";
import { hooked } from "./hooked-cluster.ts";

const task = `${hooked}resources: {image_id: "docker:lab/none"}`;
const refusal = { type: "NotFoundError", message: "image lab/none: there is no such image" };

test("a cluster whose image is refused is removed, and no hook runs outside of it", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(world.run(rows.launch, { cluster_name: "demo", task }), refusal);

  await world.untilStatus("demo", "GONE");
  const { id } = await world.cluster("demo");
  const [lifecycle] = await listLifecycles(world.ctx.db, id);
  assert.equal(lifecycle?.skipsHooks, true);
});

test("a cluster stays where its registry is busy", async (t) => {
  const world = await testWorld(t);
  const busy = task.replace("lab/none", "lab/busy");

  await assert.rejects(world.run(rows.launch, { cluster_name: "demo", task: busy }), /503/);

  const { status, wanted } = await world.cluster("demo");
  assert.deepEqual([status, wanted], ["UP", "UP"]);
});

test("a cluster stays that was given a job just before its removal was written", async (t) => {
  const world = await testWorld(t);
  const { agent } = world.ctx;
  const looks: number[] = [];
  const listed = (input: unknown, call: () => Promise<unknown>) => {
    const isLook = JSON.stringify(input) === '{"limit":1}';
    return isLook && looks.push(1) === 2 ? Promise.resolve([{ id: 1 }]) : call();
  };
  const spied: typeof agent = (cluster, rank) => {
    const own = agent(cluster, rank);
    const call = (row: unknown, input: unknown, options: unknown) =>
      listed(input, () => own.call(row as never, input as never, options as never));
    return { ...own, call: call as typeof own.call };
  };
  Object.assign(world.ctx, { agent: spied });

  await assert.rejects(world.run(rows.launch, { cluster_name: "demo", task }), refusal);

  const { status, wanted, skipHooks, wantedBecause } = await world.cluster("demo");
  assert.deepEqual([status, wanted, skipHooks], ["UP", "UP", false]);
  assert.equal(wantedBecause, "it has jobs of others");
});
