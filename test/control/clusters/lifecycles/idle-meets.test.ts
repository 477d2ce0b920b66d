import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { launch } from "../../../../control/clusters/launch.ts";
import { until } from "../../../helpers/agent.ts";
import { aCall } from "../a-call.ts";
import { hooked, name, withHooks } from "../hooked-cluster.ts";

const plain = { ...name, task: "run: echo hi" };

/** A cluster with hooks that the test ends, and an idle timer. */
const withIdle = (t: TestContext, launch: object = {}) =>
  withHooks(t, { task: hooked, holds: true, launch: { idle_minutes_to_autostop: 5, ...launch } });

for (const row of [rows.launch, rows.exec])
  test(`${row.name} with cancel_stop keeps an idle cluster up while its hooks run`, async (t) => {
    const { world, agent, hookRuns } = await withIdle(t);
    agent().becomeIdle();
    await hookRuns();
    await world.untilStatus("demo", "AUTOSTOPPING");

    const { job_id: job } = await world.run(row, { ...plain, cancel_stop: true });

    assert.equal(job, 2);
    assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>AUTOSTOPPING", "AUTOSTOPPING>UP"]);
    const ask = { ...name, event_type: "NOTEWORTHY" };
    const noteworthy = (await world.run(rows.clusterEvents, ask)).map(String);
    assert.ok(noteworthy.some((one) => one.startsWith("the idle stop or teardown is cancelled")));
  });

for (const row of [rows.launch, rows.exec])
  test(`${row.name} with cancel_stop meets an idle stop that control does not know of`, async (t) => {
    const { world, agent, id } = await withIdle(t);
    world.ctx.watches.forget(id);
    agent().becomeIdle();

    assert.equal((await world.run(row, { ...plain, cancel_stop: true })).job_id, 2);
  });

test("exec that meets a stop names the way out of it", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  const start = "start it again once it is stopped: outrigger start demo";
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");

  await assert.rejects(world.run(rows.exec, plain), {
    message:
      "cluster demo does not stay up (idle for 5 min); keep it up while its hooks run: " +
      `outrigger exec --cancel-stop demo …; or ${start}`,
  });
  await assert.rejects(world.run(rows.autostop, { ...name, idle_minutes: 5 }), {
    message:
      "cluster demo is AUTOSTOPPING, not UP; keep it up while its hooks run: " +
      `outrigger autostop --cancel demo; or ${start}`,
  });
  agent().endHook();
  await world.untilStatus("demo", "STOPPED");
});

test("endpoints and jobs of a cluster can be read until its hooks are over", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  await world.run(rows.launch, { ...plain, task: "{resources: {ports: 8080}, run: 'true'}" });
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");

  assert.deepEqual(await world.run(rows.endpoints, { cluster: "demo" }), {
    8080: "10.0.0.0:8080",
  });
  const ids = (await world.run(rows.queue, name)).map((job) => job.job_id);
  assert.deepEqual(ids, [2, 1]);

  agent().endHook();
  await world.untilStatus("demo", "STOPPED");
  await assert.rejects(world.run(rows.endpoints, { cluster: "demo" }), {
    type: "ClusterNotUpError",
  });
});

test("cancel_stop does not undo what a user wants", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  const stop = await world.call(rows.stop, name);
  await hookRuns();

  const task = { ...plain, cancel_stop: true };
  await assert.rejects(world.run(rows.exec, task), {
    message:
      /does not stay up \(stop by local\); start it again once it is stopped: outrigger start demo$/,
  });
  agent().endHook();
  await world.get(rows.stop, stop);
});

test("cancel_stop does not undo what a user wanted whose request ended early", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  world.provider.fails("list", new AppError("CloudError", "the cloud is closed"));
  await assert.rejects(world.run(rows.stop, name), { type: "CloudError" });
  world.provider.fails("list", undefined);
  await hookRuns();

  await assert.rejects(world.run(rows.exec, { ...plain, cancel_stop: true }), {
    message: /stop by local/,
  });
  agent().endHook();
  await world.untilStatus("demo", "STOPPED");
});

test("a launch that finds its cluster stopped by the idle timer when it is taken up again", async (t) => {
  const { world, agent, hookRuns, id } = await withIdle(t);
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");
  const input = rows.launch.input.body.parse(plain);
  const call = aCall(world.ctx, { wish: { clusterId: id, printed: 0 } });

  const launching = launch(world.ctx, input, call);
  await until(() => call.notes.length > 0 || undefined);
  agent().endHook();

  assert.equal((await launching).job_id, 2);
});

test("a user's stop that joins an idle one outlives autostop", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");
  const stop = await world.call(rows.stop, name);
  await until(
    async () => (await world.cluster("demo")).wantedBecause.startsWith("stop") || undefined,
  );

  await assert.rejects(world.run(rows.autostop, { ...name, idle_minutes: -1 }), {
    message: /can no longer be kept up/,
  });
  agent().endHook();
  await world.get(rows.stop, stop);
});

test("a launch that meets an idle stop waits for it and starts the cluster again", async (t) => {
  const { world, agent, hookRuns, id } = await withIdle(t);
  const { node } = agent();
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");

  const launch = await world.call(rows.launch, plain);
  await world.untilNote(launch, /waits until cluster demo is stopped \(idle for 5 min\)/);
  agent().endHook();

  assert.equal((await world.get(rows.launch, launch)).job_id, 2);
  assert.equal((await world.cluster("demo")).id, id);
  assert.equal(node.jobs.length, 2);
});

test("a launch that meets an idle stop which control does not know of does the same", async (t) => {
  const { world, agent, id } = await withIdle(t);
  const { node } = agent();
  world.ctx.watches.forget(id);
  agent().becomeIdle();

  const launch = await world.call(rows.launch, plain);
  await world.untilStatus("demo", "AUTOSTOPPING");
  agent().endHook();

  assert.equal((await world.get(rows.launch, launch)).job_id, 2);
  assert.equal(node.jobs.length, 2);
  assert.equal((await world.moves("demo")).filter((move) => move === "STOPPED>INIT").length, 1);
});

test("exec that meets an idle stop which control does not know of is refused", async (t) => {
  const { world, agent, id } = await withIdle(t);
  world.ctx.watches.forget(id);
  agent().becomeIdle();

  await assert.rejects(world.run(rows.exec, plain), {
    type: "ClusterNotUpError",
    message: /cluster demo: .*idle for 5 min.*; launch waits until that is over/,
  });

  agent().endHook();
  await world.untilStatus("demo", "STOPPED");
});

test("a stop meets an idle teardown which control does not know of: the user's word wins", async (t) => {
  const { world, agent, id, untilLifecycle } = await withIdle(t, { down: true });
  world.ctx.watches.forget(id);
  agent().becomeIdle();

  const stop = await world.call(rows.stop, name);
  await untilLifecycle(({ events, runs }) => events.includes("stop") && runs.length > 0);
  // The hook for down had begun, and finishes; then comes the one for stop.
  agent().endHook();
  agent().endHook();

  await world.get(rows.stop, stop);
  const { status, wanted } = await world.cluster("demo");
  assert.deepEqual([status, wanted], ["STOPPED", "STOPPED"]);
});
