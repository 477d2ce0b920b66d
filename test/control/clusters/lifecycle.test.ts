import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { testWorld, type WorldOptions } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: echo hi" };
const closed = new AppError("CloudError", "the cloud is closed");

/** A world with a cluster that is up. */
async function withCluster(t: TestContext, more: object = {}, options: WorldOptions = {}) {
  const world = await testWorld(t, options);
  await world.run(rows.launch, { ...demo, ...more });
  const { id } = await world.cluster("demo");
  return { world, id, agent: () => world.provider.agentOf(id) };
}

test("stop ends the jobs, turns the nodes off and keeps them", async (t) => {
  const { world, agent } = await withCluster(t);
  const { jobs } = agent().node;

  assert.equal(await world.run(rows.stop, name), null);

  assert.equal(jobs[0]?.status, "CANCELLED");
  assert.equal((await world.cluster("demo")).status, "STOPPED");
  assert.deepEqual(
    [...world.provider.machines.values()].map(({ state }) => state),
    ["stopped"],
  );
});

test("stop on a stopped cluster does nothing", async (t) => {
  const { world } = await withCluster(t);
  await world.run(rows.stop, name);

  await world.run(rows.stop, name);

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>STOPPED"]);
});

test("a cloud that cannot stop nodes says so before anything is touched", async (t) => {
  const { world, agent } = await withCluster(t, {}, { cannotStop: true });

  await assert.rejects(world.run(rows.stop, name), {
    type: "NotSupportedError",
    message: /fake cannot stop nodes; take the cluster down/,
  });

  const { status, wanted } = await world.cluster("demo");
  assert.deepEqual({ status, wanted }, { status: "UP", wanted: "UP" });
  assert.equal(agent().node.jobs[0]?.status, "RUNNING");
});

test("start turns the nodes on again", async (t) => {
  const { world } = await withCluster(t);
  await world.run(rows.stop, name);

  await world.run(rows.start, name);

  assert.deepEqual(world.provider.calls, ["create 0", "stop 0", "create 0"]);
  assert.equal((await world.cluster("demo")).status, "UP");
});

test("start on a cluster that is up does nothing", async (t) => {
  const { world } = await withCluster(t);

  await world.run(rows.start, name);

  assert.deepEqual(world.provider.calls, ["create 0"]);
});

test("start waits for a stop that is under way", async (t) => {
  const { world } = await withCluster(t);
  const release = world.provider.holds("stop");
  const stopping = world.run(rows.stop, name);
  await world.provider.held("stop");

  const id = await world.call(rows.start, name);
  await world.untilNote(id, /waits until cluster demo is stopped/);
  release();
  await stopping;
  await world.get(rows.start, id);

  assert.equal((await world.cluster("demo")).status, "UP");
});

test("start is refused on a cluster that is being taken down", async (t) => {
  const { world } = await withCluster(t);
  const release = world.provider.holds("destroy");
  const going = world.run(rows.down, name);
  await world.provider.held("destroy");

  for (const row of [rows.start, rows.stop])
    await assert.rejects(world.run(row, name), { type: "ConflictError" });

  release();
  await going;
});

test("down deletes the nodes; the cluster is in no list any more", async (t) => {
  const { world } = await withCluster(t);

  assert.equal(await world.run(rows.down, name), null);

  assert.deepEqual([...world.provider.machines], []);
  assert.deepEqual(await world.run(rows.status, {}), []);
});

test("down says why a node could not be deleted, and goes on trying", async (t) => {
  const { world } = await withCluster(t);
  world.provider.fails("destroy", closed);
  await assert.rejects(world.run(rows.down, name), { type: "CloudError", message: /is closed/ });

  world.provider.fails("destroy", undefined);
  await world.look("demo");

  assert.equal((await world.cluster("demo")).status, "GONE");
});

test("down with purge forgets a cluster whose nodes cannot be deleted", async (t) => {
  const { world } = await withCluster(t);
  world.provider.fails("destroy", closed);

  await world.run(rows.down, { ...name, purge: true });

  assert.equal((await world.cluster("demo")).status, "GONE");
  const events = await world.run(rows.clusterEvents, { ...name, event_type: "TERMINAL" });
  assert.match(String(events[0]), /purged; nodes may remain: the cloud is closed/);
});

test("downs of one cluster at once all succeed", async (t) => {
  const { world } = await withCluster(t);

  const results = await Promise.all([1, 2, 3].map(() => world.run(rows.down, name)));

  assert.deepEqual(results, [null, null, null]);
  assert.deepEqual(world.provider.calls, ["create 0", "destroy 0"]);
});

test("whatever names a cluster that is not there is told so", async (t) => {
  const world = await testWorld(t);
  const calls = [
    () => world.run(rows.start, name),
    () => world.run(rows.stop, name),
    () => world.run(rows.down, name),
    () => world.run(rows.autostop, { ...name, idle_minutes: 5 }),
    () => world.run(rows.exec, demo),
    () => world.run(rows.queue, name),
    () => world.run(rows.jobStatus, { ...name, job_ids: null }),
    () => world.run(rows.cancel, { ...name, job_ids: null, all: true }),
    () => world.run(rows.endpoints, { cluster: "demo" }),
    () => world.run(rows.downloadLogs, { ...name, job_ids: null }),
  ];

  for (const call of calls) await assert.rejects(call(), { type: "ClusterDoesNotExist" });
});

test("whatever needs a cluster that is up is told its status", async (t) => {
  const { world } = await withCluster(t);
  await world.run(rows.stop, name);
  const calls = [
    () => world.run(rows.exec, demo),
    () => world.run(rows.cancel, { ...name, job_ids: null, all: true }),
    () => world.run(rows.autostop, { ...name, idle_minutes: 5 }),
    () => world.run(rows.endpoints, { cluster: "demo" }),
  ];

  for (const call of calls)
    await assert.rejects(call(), {
      type: "ClusterNotUpError",
      message: "cluster demo is STOPPED, not UP; start it first: outrigger start demo",
    });
});

for (const [hooks, more] of [
  ["", ""],
  ["\nconfig: { hooks: [{ run: save }] }", "; the output of its hooks: outrigger logs --hook demo"],
] as const)
  test(`where the log of a job is of a stopped cluster${hooks && " with hooks"} is said if no copy was kept`, async (t) => {
    const { world } = await withCluster(t, { task: `${demo.task}${hooks}` });
    await world.run(rows.stop, name);

    await assert.rejects(world.run(rows.downloadLogs, { ...name, job_ids: ["7"] }), {
      type: "ClusterNotUpError",
      message:
        "cluster demo is STOPPED, not UP; jobs and their logs are on its nodes; " +
        `start it to read them: outrigger start demo${more}`,
    });
  });

test("start with down needs to know when", async (t) => {
  const { world } = await withCluster(t);

  await assert.rejects(world.run(rows.start, { ...name, down: true }), {
    type: "ValueError",
    message: /down needs idle_minutes_to_autostop/,
  });
});

test("a lost node is replaced", async (t) => {
  const { world, id } = await withCluster(t, { task: "num_nodes: 2\nrun: 'true'" });

  await world.provider.lose(id, 1);
  await world.untilStatus("demo", "INIT");
  await world.untilStatus("demo", "UP");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>INIT", "INIT>UP"]);
  assert.deepEqual(world.provider.calls.toSorted(), ["create 0", "create 1", "create 1"]);
});

test("an agent that went away is started again; the cluster stays up", async (t) => {
  const { world, id, agent } = await withCluster(t);

  await world.provider.silence(id, 0);
  await world.look("demo");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  assert.equal(agent().node.jobs[0]?.status, "RUNNING");
});

test("a node that was told something else about itself is told again", async (t) => {
  const { world, agent } = await withCluster(t);
  const { node } = agent();
  const told = node.settings ?? assert.fail("the node was told nothing");

  node.settings = { ...told, cpus: told.cpus + 1 };
  await world.look("demo");

  assert.deepEqual(node.settings, told);
  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
});

test("clusters that are up are listened to again after a restart", async (t) => {
  const { world } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  const after = await world.crash();
  const { id } = await after.cluster("demo");

  after.provider.agentOf(id).becomeIdle();

  await after.untilStatus("demo", "STOPPED");
});
