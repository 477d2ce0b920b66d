import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { narrate, provisionLogOf } from "../../../control/clusters/provision-log.ts";
import { wantCluster } from "../../../control/clusters/want.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";
import { demo, list, withLaunch } from "./held-launch.ts";

test("a request is stored before it is answered, and no crash loses it", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const planned = { ...demo, task: "run: echo hi", dryrun: true };
  const ids = await Promise.all(
    Array.from({ length: 20 }, () => world.call(clusters.launch, planned)),
  );

  const after = await world.crash();

  for (const id of ids) assert.equal((await after.get(clusters.launch, id)).job_id, null);
});

test("a request that ran when control was killed goes on with what it had", async (t) => {
  const { world, id, release } = await withLaunch(t);

  const after = await world.crash();
  release();

  assert.equal((await after.get(clusters.launch, id)).job_id, 1);
  assert.deepEqual(await after.moves("demo"), ["INIT>UP"]);
  assert.deepEqual(await after.run(clusters.status, {}).then((all) => all.length), 1);
});

test("a launch that goes on has every line in its log once", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const task = "resources: {spot_recovery: failover}\nrun: 'true'";
  const id = await world.call(clusters.launch, { ...demo, task });
  await world.provider.held("create");
  const cluster = await world.cluster("demo");
  narrate(world.ctx, cluster.id, "node 0 is on its way");
  await until(async () => /on its way/.test(await world.printed(id)) || undefined);
  appendFileSync(provisionLogOf(world.ctx, cluster.id), "node 0 is still on its way\n");

  const after = await world.crash();
  release();
  await after.get(clusters.launch, id);

  const text = await after.printed(id);
  const lines = text.trim().split("\n");
  assert.deepEqual(lines, [...new Set(lines)]);
  const order = [
    "older name of `job_recovery`",
    "Cluster demo: 1 node",
    "node 0 is on its way",
    "node 0 is still on its way",
    "node 0 runs",
    "cluster demo is UP",
    "Job submitted, ID: 1",
  ].map((part) => text.indexOf(part));
  assert.ok(!order.includes(-1), text);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
});

/** Control is killed while a stop or start waits, and after somebody else wished something else. */
async function overtakenAfterCrash(
  t: TestContext,
  row: typeof clusters.stop | typeof clusters.start,
  wish: "UP" | "STOPPED",
) {
  const world = await testWorld(t);
  await world.run(clusters.launch, demo);
  if (row === clusters.start) await world.run(clusters.stop, demo);
  const release = world.provider.holds(row === clusters.start ? "create" : "stop");
  const id = await world.call(row, demo);
  await world.provider.held(row === clusters.start ? "create" : "stop");
  const { id: clusterId } = await world.cluster("demo");
  await wantCluster(writable(world.ctx), clusterId, { wanted: wish, because: "another wish" });
  const after = await world.crash();
  release();
  return { after, id };
}

test("a stop that was overtaken undoes nothing when it is taken up again", async (t) => {
  const { after, id } = await overtakenAfterCrash(t, clusters.stop, "UP");

  await assert.rejects(after.get(clusters.stop, id), {
    type: "ClusterNotUpError",
    message: /cluster demo is being started meanwhile \(another wish\)/,
  });
  assert.equal((await after.cluster("demo")).wanted, "UP");
});

test("a start that was overtaken undoes nothing when it is taken up again", async (t) => {
  const { after, id } = await overtakenAfterCrash(t, clusters.start, "STOPPED");

  await assert.rejects(after.get(clusters.start, id), {
    type: "ClusterNotUpError",
    message: /cluster demo is being stopped meanwhile \(another wish\)/,
  });
  await after.untilStatus("demo", "STOPPED");
});

test("what only reads is forgotten by a restart of control, and says so", async (t) => {
  const world = await testWorld(t);
  await world.run(clusters.launch, demo);
  const { headers } = await world.open("POST", "/logs", { body: { ...demo, job_id: 1 } });
  const id = headers["x-skypilot-request-id"] ?? "";
  assert.equal((await list(world))[0]?.["status"], "RUNNING");

  const after = await world.crash();

  const { status, json } = await after.http("GET", `/api/get?request_id=${id}`);
  assert.equal(status, 404);
  assert.match(String(json["detail"]), /for minutes or until control restarts/);
});

test("requests of an operation that is no more end with an error", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const id = await world.call(clusters.stop, demo);
  await writable(world.ctx).updateTable("requests").set({ name: "gone" }).execute();

  const after = await world.crash();

  await assert.rejects(after.get(clusters.stop, id), { type: "NotSupportedError" });
});
