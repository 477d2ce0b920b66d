import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import type { StoredLifecycle } from "../../../control/clusters/lifecycles/schema.ts";
import { putLifecycle } from "../../../control/clusters/lifecycles/store.ts";
import { aLifecycle } from "../../helpers/clusters.ts";
import { type Calls, testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const task = "run: 'true'";

/** A world with two clusters of ann's and one of ben's. */
async function withClusters(t: TestContext) {
  const world = await testWorld(t);
  for (const [cluster_name, user] of [
    ["train-1", "ann"],
    ["train-2", "ann"],
    ["serve", "ben"],
  ] as const) {
    const caller = await world.as(user, { role: "admin" });
    await caller.run(rows.launch, { cluster_name, task });
    world.advance(1_000);
  }
  const names = async (input: object, { run }: Pick<Calls, "run"> = world) =>
    (await run(rows.status, input)).map(({ name }) => name);
  return { world, names };
}

test("status lists live clusters, newest launch first, and is asked without a body too", async (t) => {
  const { world, names } = await withClusters(t);
  await world.run(rows.down, { cluster_name: "train-2" });

  assert.deepEqual(await names({}), ["serve", "train-1"]);
  const bare = await world.http("POST", "/status");
  assert.equal(bare.status, 200);
  const id = bare.headers["x-skypilot-request-id"] ?? "";
  assert.equal((await world.get(rows.status, id)).length, 2);
});

test("status chooses by name, pattern and user", async (t) => {
  const { world, names } = await withClusters(t);

  assert.deepEqual(await names({ cluster_names: ["train-1", "nowhere"] }), ["train-1"]);
  assert.deepEqual(await names({ cluster_names: ["train-*"] }), ["train-2", "train-1"]);
  assert.deepEqual(await names({ cluster_names: ["tr?in-2", "s*"] }), ["serve", "train-2"]);
  assert.deepEqual(await names({ cluster_names: [] }), []);
  const own = { all_users: false };
  assert.deepEqual(await names(own, await world.as("ben")), ["serve"]);
  assert.deepEqual(await names(own, await world.as("cid")), []);
  assert.equal((await names(own)).length, 3);
});

test("whoever misspells the name of a cluster is told of one that is spelled so", async (t) => {
  const { world } = await withClusters(t);

  const asked = world.run(rows.queue, { cluster_name: "tarin-2" });

  await assert.rejects(asked, {
    type: "ClusterDoesNotExist",
    message: "there is no cluster tarin-2; did you mean `train-2`?",
  });
  for (const asked of [
    world.run(rows.clusterEvents, { cluster_name: "tarin-2", event_type: "DEBUG" }),
    world.run(rows.hookLogs, { cluster_name: "tarin-2" }),
  ])
    await assert.rejects(asked, {
      message: "there was no cluster tarin-2; did you mean `train-2`?",
    });
});

test("a hostile pattern costs no more than any other", async (t) => {
  const { world } = await withClusters(t);
  const name = "a".repeat(120);
  await world.run(rows.launch, { cluster_name: name, task });
  const patterns = [`${"*a".repeat(60)}b`, "(a+)+$", "[", "\\", "^a", "a{9}", "*a".repeat(60)];

  const found = await world.run(rows.status, { cluster_names: patterns });

  assert.deepEqual(
    found.map((record) => record.name),
    [name],
  );
});

test("a record tells what clients show", async (t) => {
  const { world } = await withClusters(t);

  const [record] = await world.run(rows.status, { cluster_names: ["serve"] });

  const { status, user_hash, user_name, nodes, autostop, workspace, cluster_ever_up } =
    record ?? {};
  assert.deepEqual(
    { status, user_hash, user_name, nodes, autostop, workspace, cluster_ever_up },
    {
      status: "UP",
      user_hash: "ben",
      user_name: "ben",
      nodes: 1,
      autostop: -1,
      workspace: "default",
      cluster_ever_up: true,
    },
  );
  assert.equal(record?.resources_str, "1x(H100:8, cpus=4, mem=16)");
  assert.equal(record?.last_creation_yaml, task);
  assert.equal(record?.last_event, "every node runs");
});

test("a summary leaves out what is long, and the handle where nobody wants it", async (t) => {
  const { world } = await withClusters(t);

  const [record] = await world.run(rows.status, {
    cluster_names: ["serve"],
    summary_response: true,
    include_handle: false,
  });

  assert.equal(record?.last_creation_yaml, undefined);
  assert.equal(record?.last_event, undefined);
  assert.equal(record?.handle, "gAROLg==");
});

test("status tells of the lifecycle that is under way, the head's before others", async (t) => {
  const { world } = await withClusters(t);
  const { id: clusterId } = await world.cluster("serve");
  const tell = (more: Partial<StoredLifecycle>) =>
    putLifecycle(writable(world.ctx), aLifecycle({ clusterId, ...more }));
  const told = async () => {
    const found = await world.run(rows.status, { summary_response: true });
    return found.map(({ name, lifecycle }) => `${name} ${lifecycle?.id}`);
  };
  await tell({ id: "head", startedAt: 1 });
  await tell({ id: "worker", rank: 1, startedAt: 2 });
  await tell({ id: "over", startedAt: 3, endedAt: 4 });

  assert.deepEqual(await told(), ["serve head", "train-2 undefined", "train-1 undefined"]);
});

test("status with refresh looks at the nodes first", async (t) => {
  const { world } = await withClusters(t);
  const { id } = await world.cluster("serve");
  world.provider.offer = undefined;
  await world.run(rows.stop, { cluster_name: "serve" });
  await world.provider.lose(id, 0);

  const [record] = await world.run(rows.status, { cluster_names: ["serve"], refresh: "FORCE" });

  assert.equal(record?.status, "STOPPED");
});

test("status with refresh does not wait for what is changing", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  await world.call(rows.launch, { cluster_name: "slow", task });
  await world.provider.held("create");

  const [record] = await world.run(rows.status, { refresh: "FORCE" });

  assert.equal(record?.status, "INIT");
  assert.equal(record?.init_kind, "launching");
  assert.equal(record?.init_status_reason, "launch by local");
  release();
});

/** A request that looks at a cluster whose nodes do not answer. */
async function withLongLook(t: TestContext) {
  const { world } = await withClusters(t);
  const release = world.provider.holds("list");
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const id = await world.call(rows.status, { cluster_names: ["serve"], refresh: "FORCE" });
  await world.provider.held("list");
  return { world, id, release };
}

test("status with refresh tells what it knows when a look takes too long", async (t) => {
  const { world, id, release } = await withLongLook(t);

  t.mock.timers.tick(30_000);
  t.mock.timers.reset();

  assert.equal((await world.get(rows.status, id))[0]?.status, "UP");
  release();
});

test("status with refresh is cancelled although a node does not answer", async (t) => {
  const { world, id, release } = await withLongLook(t);
  t.mock.timers.reset();

  assert.deepEqual(await world.cancel(id), [id]);

  await assert.rejects(world.get(rows.status, id), { type: "RequestCancelled" });
  release();
});

test("endpoints tells the ports that a task opened, and no others", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, {
    cluster_name: "demo",
    task: "{resources: {ports: [8080, 9000-9001]}, run: 'true'}",
  });
  const ask = (port: number | string | null) =>
    world.run(rows.endpoints, { cluster: "demo", port });

  assert.deepEqual(Object.keys(await ask(null)), ["8080", "9000", "9001"]);
  assert.deepEqual(await ask("8080"), { 8080: "10.0.0.0:8080" });
  await assert.rejects(ask(22), {
    message: /does not expose port 22; it exposes 8080, 9000, 9001/,
  });
  for (const port of [-1, 0, 70_000, "http", ""])
    await assert.rejects(ask(port), { type: "ValueError", message: /is not a port/ });
});

test("endpoints of a cluster without ports says so, where existing clients only abort", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task: "run: 'true'" });

  const id = await world.call(rows.endpoints, { cluster: "demo", port: null });

  assert.deepEqual(await world.get(rows.endpoints, id), {});
  assert.match(await world.printed(id), /^cluster demo exposes no port; name ports in the task/);
});

test("status says what keeps a cluster up from the first moment on", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task, idle_minutes_to_autostop: 10 });
  const { node } = world.provider.agentOf((await world.cluster("demo")).id);
  await world.run(rows.stop, { cluster_name: "demo" });
  node.idle = { keptAliveBy: ["job 1"] };
  node.onGetIdle = () => {
    throw new AppError("RuntimeError", "nobody has asked it yet");
  };

  await world.run(rows.start, { cluster_name: "demo" });

  const [record] = await world.run(rows.status, {});
  assert.deepEqual(record?.idle?.kept_alive_by, ["job 1"]);
});
