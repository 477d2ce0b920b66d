import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const demo = { cluster_name: "demo", task: "run: 'true'" };

const list = async (world: World, query = "") =>
  (await world.http("GET", `/api/status${query}`)).json as unknown as Record<string, string>[];

/** A world with a launch that waits for its node. */
async function withLaunch(t: TestContext) {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const id = await world.call(clusters.launch, demo);
  await world.provider.held("create");
  return { world, id, release };
}

test("a request is stored before it is answered, and no crash loses it", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const ids = await Promise.all(Array.from({ length: 20 }, () => world.call(clusters.status, {})));

  const after = await world.crash();

  for (const id of ids) assert.deepEqual(await after.get(clusters.status, id), []);
});

test("a request that ran when control was killed goes on with what it had", async (t) => {
  const { world, id, release } = await withLaunch(t);

  const after = await world.crash();
  release();

  assert.equal((await after.get(clusters.launch, id)).job_id, 1);
  assert.deepEqual(await after.moves("demo"), ["INIT>UP"]);
  assert.deepEqual(await after.run(clusters.status, {}).then((all) => all.length), 1);
});

test("a followed log that was cut off ends with an error that says so", async (t) => {
  const world = await testWorld(t);
  await world.run(clusters.launch, demo);
  const { headers } = await world.open("POST", "/logs", { body: { ...demo, job_id: 1 } });
  const id = headers["x-skypilot-request-id"] ?? "";
  assert.equal((await list(world))[0]?.["status"], "RUNNING");

  const after = await world.crash();

  await assert.rejects(after.get(clusters.logs, id), {
    type: "RuntimeError",
    message: "control was restarted; follow the log again",
  });
});

test("requests of an operation that is no more end with an error", async (t) => {
  const world = await testWorld(t, { queuesClosed: true });
  const id = await world.call(clusters.status, {});
  await world.ctx.db.updateTable("requests").set({ name: "gone" }).execute();

  const after = await world.crash();

  await assert.rejects(after.get(clusters.status, id), { type: "NotSupportedError" });
});
