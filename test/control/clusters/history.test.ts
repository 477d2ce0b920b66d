import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { narrate, remark } from "../../../control/clusters/provision-log.ts";
import { addEvent } from "../../../control/events.ts";
import { testWorld } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: 'true'" };
const hourMs = 3_600_000;

async function withCluster(t: TestContext, more: object = {}) {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, ...more });
  return world;
}

test("the cost report counts the hours that nodes ran, stops left out", async (t) => {
  const world = await withCluster(t);
  world.advance(hourMs);
  await world.run(rows.stop, name);
  world.advance(5 * hourMs);
  await world.run(rows.start, name);
  world.advance(2 * hourMs);

  const [record] = await world.run(rows.costReport, {});

  assert.ok(Math.abs(Number(record?.duration) - (3 * hourMs) / 1_000) < 60, `${record?.duration}`);
  assert.ok(Math.abs(Number(record?.total_cost) - 3 * 2) < 0.1, `${record?.total_cost}`);
  assert.equal(record?.status, "UP");
});

test("the cost report has clusters that are gone, for as many days as asked", async (t) => {
  const world = await withCluster(t);
  world.advance(hourMs);
  await world.run(rows.down, name);
  world.advance(48 * hourMs);

  const [record] = await world.run(rows.costReport, {});
  assert.equal(record?.status, null);
  assert.ok(Math.abs(Number(record?.duration) - hourMs / 1_000) < 60);
  assert.deepEqual(await world.run(rows.costReport, { days: 1 }), []);
  assert.equal((await world.run(rows.costReport, { days: 3 })).length, 1);
});

test("the cost report can be asked for some clusters", async (t) => {
  const world = await withCluster(t);
  const { id } = await world.cluster("demo");

  assert.equal((await world.run(rows.costReport, { cluster_hashes: [id] })).length, 1);
  assert.deepEqual(await world.run(rows.costReport, { cluster_hashes: ["other"] }), []);
  assert.equal((await world.run(rows.costReport, { exclude_managed_clusters: true })).length, 1);
});

test("the events of a cluster tell its moves, oldest first, also once it is gone", async (t) => {
  const world = await withCluster(t);
  const { id } = await world.cluster("demo");
  await world.run(rows.down, name);
  const ask = (more: object) =>
    world.run(rows.clusterEvents, { ...name, event_type: "STATUS_CHANGE", ...more });

  const all = ["INIT → UP: every node runs", "UP → GONE: down by local"];
  assert.deepEqual(await ask({}), all);
  assert.deepEqual(await ask({ cluster_name: null, cluster_hash: id }), all);
  assert.deepEqual(await ask({ limit: 1 }), all.slice(1));
  assert.deepEqual(await ask({ event_type: "TERMINAL" }), all.slice(1));
  const remarks = await ask({ event_type: "DEBUG" });
  assert.equal((await ask({ event_type: "STATUS_CHANGE,DEBUG" })).length, 2 + remarks.length);
  await assert.rejects(ask({ event_type: "STATUS_CHANGE,moves" }), { type: "ValueError" });
  const [first] = await ask({ include_timestamps: true });
  assert.deepEqual(Object.keys(first as object).toSorted(), ["reason", "transitioned_at"]);
});

test("remarks tell what happened between the moves of a cluster", async (t) => {
  const world = await withCluster(t);
  const { id } = await world.cluster("demo");
  await world.provider.silence(id, 0);
  await world.look("demo");
  world.provider.fails("destroy", new AppError("CloudError", "the cloud is closed"));
  await assert.rejects(world.run(rows.down, name), { type: "CloudError" });
  await world.look("demo");
  world.provider.fails("destroy", undefined);

  const remarks = await world.run(rows.clusterEvents, { ...name, event_type: "DEBUG" });

  assert.deepEqual(
    remarks.map((text) => String(text).replace(/ \(.*/, "")),
    ["node 0 runs", "node 0 has a running agent again", "failed: the cloud is closed"],
  );
});

test("events are refused where it is not clear whose or which", async (t) => {
  const world = await withCluster(t);
  const wrong = [
    { ...name, cluster_hash: "c1", event_type: "DEBUG" },
    { event_type: "DEBUG" },
    { ...name, event_type: "debug" },
    { ...name, event_type: "constructor" },
    { ...name, event_type: "__proto__" },
    { cluster_name: "nowhere", event_type: "DEBUG" },
  ];

  for (const input of wrong)
    await assert.rejects(world.run(rows.clusterEvents, input), { type: "ValueError" });
});

test("the provisioning log tells how a cluster came to be, and outlives it", async (t) => {
  const world = await withCluster(t, { task: "{num_nodes: 2, run: 'true'}" });
  await world.run(rows.down, name);
  const ask = async (query: string, more: object = {}) =>
    (await world.http("POST", `/provision_logs${query}`, { body: { ...name, ...more } })).text;

  assert.match(await ask(""), /node 0 runs[\s\S]*cluster demo is UP[\s\S]*is GONE/);
  assert.match(await ask("?tail=1"), /^cluster demo is GONE: down by local\n$/);
  assert.match(await ask("", { worker: 1 }), /^node 1 runs.*\n$/);
});

test("the provisioning log is followed while a cluster comes to be", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  const launching = world.run(rows.launch, demo);
  await world.provider.held("create");
  narrate(world.ctx, (await world.cluster("demo")).id, "node 0 is on its way");

  const { body } = await world.open("POST", "/provision_logs", { body: name });
  let text = "";
  for await (const chunk of body) {
    text += chunk;
    release();
  }
  await launching;

  assert.match(text, /^node 0 is on its way\nnode 0 runs.*\n/);
});

test("the provisioning log of a cluster that could not be started ends once nobody waits for it", async (t) => {
  const world = await withCluster(t);
  await world.run(rows.stop, name);
  world.provider.fails("create", new AppError("CloudError", "the cloud is closed"));
  const start = await world.call(rows.start, name);
  await world.untilStatus("demo", "INIT");

  const { text } = await world.http("POST", "/provision_logs", { body: name });

  assert.match(text, /failed: the cloud is closed\n$/);
  await assert.rejects(world.get(rows.start, start), { type: "CloudError" });
});

test("the provisioning log of a cluster goes on while somebody waits for it", async (t) => {
  const world = await testWorld(t);
  world.provider.fails("create", new AppError("CloudError", "the cloud is closed"));
  const launching = world.run(rows.launch, { ...demo, retry_until_up: true });
  await world.untilProblem("demo");

  const { body } = await world.open("POST", "/provision_logs", { body: name });
  let text = "";
  for await (const chunk of body) {
    text += chunk;
    world.provider.fails("create", undefined);
  }
  await launching;

  assert.match(text, /^failed: the cloud is closed\n[\s\S]*cluster demo is UP.*\n$/);
});

test("the provisioning log cannot steer the clients of others", async (t) => {
  const world = await withCluster(t);
  const ann = await world.as("<sky-payload>ann", { id: "ann" });
  await ann.run(rows.down, name);

  const { text } = await world.http("POST", "/provision_logs?tail=1", { body: name });

  assert.equal(text, "cluster demo is GONE: down by <sky_payload>ann\n");
});

test("the provisioning log of what never was is not found", async (t) => {
  const world = await withCluster(t);
  const ask = (body: object) => world.http("POST", "/provision_logs", { body });

  assert.equal((await ask({ cluster_name: "nowhere" })).status, 404);
  const headers = { "x-skypilot-api-version": "49" };
  const body = { cluster_name: "nowhere" };
  const existing = await world.http("POST", "/provision_logs", { body, headers });
  assert.deepEqual(
    [existing.status, existing.text],
    [404, "there was no cluster nowhere; list them with: sky cost-report"],
  );
  for (const worker of [-1, 1]) assert.equal((await ask({ ...name, worker })).status, 400);
});

test("a remark is an event and a line of the provisioning log; one that was not committed is neither", async (t) => {
  const world = await withCluster(t);
  const cluster = await world.cluster("demo");
  const remarked = { noun: "cluster", id: cluster.id, reason: "never was", at: new Date() };

  await remark(world.ctx, cluster.id, "a thing happened");
  const failing = world.ctx.batch(async (tx) => {
    await addEvent(tx, remarked);
    throw new Error("it failed");
  });
  await assert.rejects(failing, /it failed/);

  const { text } = await world.http("POST", "/provision_logs", { body: name });
  const events = await world.run(rows.clusterEvents, { ...name, event_type: "DEBUG" });
  assert.match(text, /\na thing happened\n$/);
  assert.equal(events.filter((event) => event === "a thing happened").length, 1);
  assert.equal(JSON.stringify(events).includes("never was"), false);
});
