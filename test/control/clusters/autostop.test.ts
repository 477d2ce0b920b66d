import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { until } from "../../helpers/agent.ts";
import { hooked, name, withHooks } from "./hooked-cluster.ts";

/** How long a head is asked again that does not answer. */
const untilGivenUpMs = 11_000;
const plain = { ...name, task: "run: echo hi" };

/** A world with a cluster that is up and has no hooks. */
const withCluster = (t: TestContext, launch: object = {}) =>
  withHooks(t, { task: plain.task, launch });

/** One with hooks that the test ends, and an idle timer. */
const withIdle = (t: TestContext, launch: object = {}) =>
  withHooks(t, { task: hooked, holds: true, launch: { idle_minutes_to_autostop: 5, ...launch } });

test("autostop is kept, told to the head, and left alone by a launch that says nothing", async (t) => {
  const { world, agent } = await withCluster(t);
  const asked = { idleMs: 600_000, down: true, waitFor: "jobs" };

  await world.run(rows.autostop, { ...name, idle_minutes: 10, down: true, wait_for: "jobs" });
  assert.deepEqual(agent().node.autostop, asked);
  await world.run(rows.launch, plain);
  assert.deepEqual(agent().node.autostop, asked);

  const [record] = await world.run(rows.status, {});
  assert.deepEqual([record?.autostop, record?.to_down], [10, true]);
});

test("autostop is changed by a launch that mentions it, and cancelled by a negative one", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });

  await world.run(rows.launch, { ...plain, idle_minutes_to_autostop: 7 });
  assert.equal(agent().node.autostop.idleMs, 7 * 60_000);

  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  assert.equal(agent().node.autostop.idleMs, null);
  assert.equal((await world.run(rows.status, {}))[0]?.autostop, -1);
});

test("a head that did not hear of a new autostop is told once it is heard again", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  const { node } = agent();
  node.onCall = (called) => {
    if (called !== "setAutostop") return;
    world.advance(untilGivenUpMs);
    fail("UnreachableError", "the connection broke");
  };

  const asked = world.run(rows.autostop, { ...name, idle_minutes: 10, down: true });

  await assert.rejects(asked, { message: /the connection broke/ });
  node.onCall = () => {};
  await until(() => node.autostop.idleMs === 600_000 || undefined);
  assert.equal(node.autostop.down, true);
});

test("a cluster that was idle for long enough stops, and may be started again", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });

  agent().becomeIdle();
  await world.untilStatus("demo", "STOPPED");
  await world.run(rows.start, name);

  assert.deepEqual(await world.moves("demo"), [
    "INIT>UP",
    "UP>AUTOSTOPPING",
    "AUTOSTOPPING>STOPPED",
    "STOPPED>INIT",
    "INIT>UP",
  ]);
  assert.equal(agent().node.lifecycles[0]?.status, "DONE", "the head accepts jobs again");
  assert.equal(agent().node.autostop.idleMs, 5 * 60_000);
  assert.equal((await world.run(rows.exec, plain)).job_id, 2);
});

test("a cluster that is idle for long enough is taken down when that was asked", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5, down: true });

  agent().becomeIdle();

  await world.untilStatus("demo", "GONE");
  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>AUTOSTOPPING", "AUTOSTOPPING>GONE"]);
});

test("the hooks of an idle cluster run before it stops; it is AUTOSTOPPING all the while", async (t) => {
  const { world, agent, hookRuns, untilLifecycle } = await withIdle(t);
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");
  const { wanted, wantedBecause } = await world.cluster("demo");

  agent().endHook();
  await world.untilStatus("demo", "STOPPED");

  assert.deepEqual([wanted, wantedBecause], ["STOPPED", "idle for 5 min"]);
  const { cause, status } = await untilLifecycle(() => true);
  assert.deepEqual([cause, status], ["idle", "DONE"]);
});

test("autostop that is cancelled while the hooks run keeps the cluster up", async (t) => {
  const { world, agent, hookRuns, remarks, untilLifecycle } = await withIdle(t);
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");

  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  agent().endHook();

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>AUTOSTOPPING", "AUTOSTOPPING>UP"]);
  assert.equal(agent().node.autostop.idleMs, null);
  assert.equal((await untilLifecycle(() => true)).status, "CANCELLED");
  const line = "the idle stop or teardown is cancelled (autostop cancelled by local)";
  assert.equal((await remarks())[0], line);
});

test("who cancels autostop is told of a stop that a user asked for, and how to take it back", async (t) => {
  const { world, agent, hookRuns } = await withIdle(t);
  const stop = await world.call(rows.stop, name);
  await hookRuns();

  const id = await world.call(rows.autostop, { ...name, idle_minutes: -1 });
  await world.get(rows.autostop, id);

  assert.equal(
    await world.printed(id),
    `stop by local is in progress and continues; cancel it with: outrigger api cancel ${stop}\n`,
  );
  agent().endHook();
  await world.get(rows.stop, stop);
});

test("autostop that is cancelled too late says so", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  const release = world.provider.holds("stop");
  agent().becomeIdle();
  await world.provider.held("stop");

  await assert.rejects(world.run(rows.autostop, { ...name, idle_minutes: -1 }), {
    type: "ClusterNotUpError",
    message: "cluster demo can no longer be kept up (idle for 5 min)",
  });
  release();
  await world.untilStatus("demo", "STOPPED");
});

test("autostop that is cancelled before control knows of the idle stop keeps the cluster up", async (t) => {
  const { world, agent, id } = await withIdle(t);
  world.ctx.watches.forget(id);
  agent().becomeIdle();

  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  await world.look("demo");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  assert.equal(agent().node.lifecycles[0]?.status, "CANCELLED");
});

for (const [down, status, loss] of [
  [false, "STOPPED", ""],
  [true, "GONE", "; the output of its hooks is lost"],
] as const)
  test(`a cluster that turned itself off while control was away is ${status}`, async (t) => {
    const { world, id, remarks } = await withHooks(t, {
      launch: { idle_minutes_to_autostop: 5, down },
    });
    await world.provider.stop?.(`${id}-0`, AbortSignal.timeout(60_000));

    await world.look("demo");

    assert.equal((await world.cluster("demo")).status, status);
    assert.deepEqual(await remarks(), [
      `cluster demo was idle and turned itself off while control was away${loss}`,
    ]);
  });

for (const [down, status, deed] of [
  [false, "STOPPED", "stop 1"],
  [true, "GONE", "destroy 1"],
] as const)
  test(`a cluster whose head alone turned itself off is ${status}, its worker too`, async (t) => {
    const { world, id, remarks } = await withHooks(t, {
      task: `num_nodes: 2\n${plain.task}`,
      launch: { idle_minutes_to_autostop: 5, down },
    });
    await world.provider.stop?.(`${id}-0`, AbortSignal.timeout(60_000));

    await world.look("demo");

    assert.equal((await world.cluster("demo")).status, status);
    assert.ok(world.provider.calls.includes(deed));
    assert.deepEqual(await remarks(), [
      "cluster demo was idle: its head turned itself off while control was away, its other nodes stayed on",
    ]);
  });

test("what hooks wrote while control was away can be read once the cluster is started", async (t) => {
  const { world, agent, id } = await withIdle(t);
  world.ctx.watches.forget(id);
  agent().becomeIdle();
  agent().printHook("saved\n");
  agent().endHook();
  await world.provider.stop?.(`${id}-0`, AbortSignal.timeout(60_000));
  await world.look("demo");
  const read = async () => {
    const reading = await world.call(rows.hookLogs, name);
    return [await world.get(rows.hookLogs, reading), await world.printed(reading)];
  };

  const message =
    "the nodes of cluster demo stopped while control was away; the output of the hooks is on them; " +
    "start the cluster to read it: outrigger start demo";
  await assert.rejects(read(), { type: "NotFoundError", message });
  await world.run(rows.start, name);
  assert.deepEqual(await read(), [0, "saved\n"]);
});

test("a cluster without autostop that was turned off is turned on again", async (t) => {
  const { world, id } = await withHooks(t);
  await world.provider.stop?.(`${id}-0`, AbortSignal.timeout(60_000));

  await world.look("demo");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>INIT", "INIT>UP"]);
});

test("autostop that a start sets reaches the head although its agent kept another", async (t) => {
  const { world, agent } = await withCluster(t, { idle_minutes_to_autostop: 5 });
  await world.run(rows.stop, name);

  await world.run(rows.start, { ...name, idle_minutes_to_autostop: 60, down: true });

  assert.deepEqual(agent().node.autostop, {
    idleMs: 3_600_000,
    down: true,
    waitFor: "jobs_and_ssh",
  });
});

test("what the idle timer sees is kept for clusters that have one", async (t) => {
  const { world, agent, id } = await withCluster(t);
  const { watches } = world.ctx;
  await until(() => watches.has(id) || undefined);
  assert.equal(watches.idleOf(id), undefined);

  await world.run(rows.autostop, { ...name, idle_minutes: 5 });
  assert.equal(watches.idleOf(id)?.idleMs, 300_000);
  agent().node.idle = { keptAliveBy: ["ssh"] };
  agent().end(1, "SUCCEEDED");

  await until(() => watches.idleOf(id)?.keptAliveBy.includes("ssh") || undefined);
  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  assert.equal(watches.idleOf(id), undefined);
});
