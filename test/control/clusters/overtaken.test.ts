import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { wantCluster } from "../../../control/clusters/want.ts";
import { hold } from "../../../control/want.ts";
import { testWorld } from "../../helpers/world.ts";
import { name } from "./hooked-cluster.ts";

/** A wish that comes while a pass acts for another one. */

const because = "start by ann";

test("a wish for up that comes in the last pass of a teardown is refused, or obeyed, never forgotten", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  const { id } = await world.cluster("demo");
  const releaseDestroy = world.provider.holds("destroy");
  const down = await world.call(rows.down, name);
  await world.provider.held("destroy");
  const releaseList = world.provider.holds("list");
  releaseDestroy();
  await world.provider.held("list");

  const isWanted = await world.ctx.batch((tx) => wantCluster(tx, id, { wanted: "UP", because }));
  releaseList();
  await world.get(rows.down, down);

  assert.equal(isWanted, false, "its nodes were being deleted");
  const { status, wanted } = await world.cluster("demo");
  assert.deepEqual([status, wanted], ["GONE", "GONE"]);
});

test("a pass whose wish was replaced meanwhile moves nothing", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launch = await world.call(rows.launch, { ...name, task: "run: echo hi" });
  await world.provider.held("create");
  const { id } = await world.cluster("demo");
  const releaseList = world.provider.holds("list");

  await world.ctx.batch((tx) => wantCluster(tx, id, { wanted: "GONE", because: "down by ann" }));
  release();
  await world.provider.held("list");
  await world.ctx.batch((tx) => wantCluster(tx, id, { wanted: "UP", because }));
  releaseList();
  // The launch may have seen that something else was wanted for a moment.
  await Promise.allSettled([world.get(rows.launch, launch)]);
  await world.untilStatus("demo", "UP");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
});

test("a launch that meets a teardown on its way makes the cluster anew", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  const first = await world.cluster("demo");
  const release = world.provider.holds("destroy");
  const down = await world.call(rows.down, name);
  await world.provider.held("destroy");

  const launch = await world.call(rows.launch, { ...name, task: "run: echo again" });
  release();
  await world.get(rows.down, down);
  await world.get(rows.launch, launch);

  const { id, status } = await world.cluster("demo");
  assert.equal(status, "UP");
  assert.notEqual(id, first.id);
});

test("a row is held only by those who know what is wanted of it", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  const { id } = await world.cluster("demo");
  const holds = (wanted: string) => world.ctx.batch((tx) => hold(tx, "cluster", { id, wanted }));

  assert.deepEqual([await holds("UP"), await holds("GONE")], [true, false]);
});
