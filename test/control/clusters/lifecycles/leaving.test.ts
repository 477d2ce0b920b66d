import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { listLifecycles } from "../../../../control/clusters/lifecycles/store.ts";
import { listEvents } from "../../../../control/events.ts";
import { testWorld } from "../../../helpers/world.ts";
import { asks, hooked, name, withHooks } from "../hooked-cluster.ts";

const closed = new AppError("CloudError", "the cloud is closed");
const ranFor = (runs: readonly { index: number; event: string; status: string }[]) =>
  runs.map(({ index, event, status }) => `${index} ${event} ${status}`);

test("a stop runs the hooks for stop, ends the jobs, and only then turns the nodes off", async (t) => {
  const { world, agent, hookRuns, untilLifecycle, remarks } = await withHooks(t, { holds: true });
  const { node } = agent();

  const id = await world.call(rows.stop, name);
  await hookRuns();
  assert.equal(node.jobs[0]?.status, "RUNNING", "jobs go on while hooks run");
  assert.equal((await world.cluster("demo")).status, "UP");
  agent().endHook();
  await world.get(rows.stop, id);

  const { runs, events, cause, because, status } = await untilLifecycle(
    ({ endedAt }) => endedAt !== null,
  );
  assert.deepEqual(ranFor(runs), ["0 stop SUCCEEDED"]);
  assert.deepEqual(
    { events, cause, because, status },
    {
      events: ["stop"],
      cause: "user",
      because: "stop by local",
      status: "DONE",
    },
  );
  assert.equal(node.jobs[0]?.status, "CANCELLED");
  assert.deepEqual(world.provider.calls, ["create 0", "stop 0"]);
  assert.deepEqual(await remarks(), ["hook 1 of 3 (stop) succeeded after 1.2 s"]);
  assert.match(await world.printed(id), /^hook 1 of 3 \(stop\) succeeded after 1.2 s$/m);
});

test("a down runs the hooks for down", async (t) => {
  const { world, untilLifecycle } = await withHooks(t);

  await world.run(rows.down, name);

  const { runs } = await untilLifecycle(({ endedAt }) => endedAt !== null);
  assert.deepEqual(ranFor(runs), ["1 down SUCCEEDED"]);
});

test("a hook that fails holds nothing up, and is told of once", async (t) => {
  const { world, agent, hookRuns, remarks } = await withHooks(t, { holds: true });

  const id = await world.call(rows.stop, name);
  await hookRuns();
  agent().endHook(3);
  await world.get(rows.stop, id);

  const line = "hook 1 of 3 (stop) exited with 3 after 1.2 s; the stop continues";
  assert.deepEqual(await remarks(), [line]);
  const ask = { ...name, event_type: "NOTEWORTHY" };
  const noteworthy = (await world.run(rows.clusterEvents, ask)).map(String);
  assert.deepEqual(
    noteworthy.map((one) => one.split(":")[0]),
    ["INIT → UP", line, "UP → STOPPED"],
  );
});

test("a hook that ended while control was away is told of with the time of its end", async (t) => {
  const { world, agent, hookRuns, id } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  world.advance(3_600_000);
  agent().endHook();
  await world.get(rows.stop, stop);

  const [lifecycle] = await listLifecycles(world.ctx.db, id);
  const told = await listEvents(world.ctx.db, "cluster", id, { kinds: ["remarks"], limit: 9 });
  const end = told.find(({ reason }) => reason.startsWith("hook 1 of 3 (stop) succeeded"));
  assert.ok(end);
  assert.equal(end.at.getTime(), lifecycle?.runs[0]?.endedAt);
});

test("no pass of the reconciler waits for a hook, or begins it anew", async (t) => {
  const { world, hookRuns, agent } = await withHooks(t, { holds: true });
  const stopping = await world.call(rows.stop, name);
  await hookRuns();

  for (let round = 0; round < 3; round += 1) await world.look("demo");

  assert.equal(agent().calls.filter((call) => call === "beginLifecycle").length, 1);
  agent().endHook();
  await world.get(rows.stop, stopping);
});

test("a provider call that fails is repeated alone", async (t) => {
  const { world, agent, id } = await withHooks(t);
  const { node } = agent();
  world.provider.fails("stop", closed);
  await assert.rejects(world.run(rows.stop, name), { type: "CloudError" });
  const began = agent().calls.filter((call) => call === "beginLifecycle").length;

  world.provider.fails("stop", undefined);
  await world.run(rows.stop, name);

  assert.equal(began, 1);
  assert.equal(node.lifecycles.length, 1);
  assert.deepEqual(ranFor(node.lifecycles[0]?.runs ?? []), ["0 stop SUCCEEDED"]);
  assert.equal(world.provider.machines.get(`${id}-0`)?.state, "stopped");
});

test("each stop is an event of its own: hooks run again", async (t) => {
  const { world, agent } = await withHooks(t);
  const { node } = agent();

  await world.run(rows.stop, name);
  await world.run(rows.start, name);
  await world.run(rows.stop, name);

  assert.deepEqual(
    node.lifecycles.map(({ runs, status }) => [ranFor(runs), status]),
    [
      [["0 stop SUCCEEDED"], "DONE"],
      [["0 stop SUCCEEDED"], "READY"],
    ],
  );
  assert.deepEqual(await world.moves("demo"), [
    "INIT>UP",
    "UP>STOPPED",
    "STOPPED>INIT",
    "INIT>UP",
    "UP>STOPPED",
  ]);
});

test("a cluster that was started again takes jobs", async (t) => {
  const { world } = await withHooks(t);
  await world.run(rows.stop, name);
  await world.run(rows.start, name);

  const { job_id: job } = await world.run(rows.exec, { ...name, task: "run: echo again" });

  assert.equal(job, 2);
});

test("a cluster that was never up runs no hooks", async (t) => {
  const world = await testWorld(t);
  world.provider.agentsStart = false;
  const launching = world.run(rows.launch, { ...name, task: hooked });
  const overtaken = assert.rejects(launching, { type: "ClusterNotUpError" });
  await world.provider.created(0);

  await world.run(rows.down, name);

  await overtaken;
  const { id } = await world.cluster("demo");
  assert.deepEqual(await world.moves("demo"), ["INIT>GONE"]);
  assert.deepEqual(await listLifecycles(world.ctx.db, id), []);
  assert.deepEqual(await asks(world, id).remarks(), []);
});

test("a cluster that was up tries its hooks although it is being repaired", async (t) => {
  const { world, agent, id, untilLifecycle } = await withHooks(t, {
    task: `num_nodes: 2\n${hooked}`,
  });
  world.provider.fails("create", closed);
  await world.provider.lose(id, 1);
  await world.untilStatus("demo", "INIT");
  const { node } = agent();

  await world.run(rows.down, name);

  assert.deepEqual(ranFor(node.lifecycles[0]?.runs ?? []), ["1 down SUCCEEDED"]);
  assert.deepEqual(ranFor((await untilLifecycle(() => true)).runs), ["1 down SUCCEEDED"]);
});

test("a head that went away is brought back for its hooks", async (t) => {
  const { world, agent, id } = await withHooks(t);
  const { node } = agent();
  await world.provider.silence(id, 0);

  await world.run(rows.stop, name);

  assert.deepEqual(ranFor(node.lifecycles[0]?.runs ?? []), ["0 stop SUCCEEDED"]);
});

test("a head that stays away holds nothing up; the hooks are skipped, and an event says so", async (t) => {
  const { world, id, remarks, untilLifecycle } = await withHooks(t, {
    config: { headPatienceSeconds: 0.3 },
  });
  world.provider.agentsStart = false;
  await world.provider.silence(id, 0);

  await world.run(rows.stop, name);

  assert.deepEqual(await remarks(), ["hooks skipped: the head of demo does not answer"]);
  assert.equal((await untilLifecycle(() => true)).status, "DONE");
});

test("a head that cannot begin holds nothing up", async (t) => {
  const { world, agent, remarks } = await withHooks(t, { config: { headPatienceSeconds: 0.3 } });
  agent().node.onBegin = () => {
    throw new AppError("RuntimeError", "no space left");
  };

  await world.run(rows.stop, name);

  assert.deepEqual(await remarks(), [
    "hooks skipped: the head of demo is not available: no space left",
  ]);
});

test("a head that goes away while its hooks run is brought back, and they are not run again", async (t) => {
  const { world, agent, id, hookRuns } = await withHooks(t, { holds: true });
  const { node } = agent();
  const stopping = await world.call(rows.stop, name);
  await hookRuns();

  await world.provider.silence(id, 0);
  await world.look("demo");
  agent().endHook();
  await world.get(rows.stop, stopping);

  assert.deepEqual(ranFor(node.lifecycles[0]?.runs ?? []), ["0 stop SUCCEEDED"]);
});

test("a stopped cluster cannot run its hooks for down; an event says so", async (t) => {
  const { world, remarks } = await withHooks(t);
  await world.run(rows.stop, name);

  await world.run(rows.down, name);

  assert.equal((await remarks()).at(-1), "hooks skipped: cluster demo is stopped");
});

test("a stopped cluster without hooks for down goes without a word", async (t) => {
  const { world, remarks } = await withHooks(t, { task: "run: echo hi" });
  await world.run(rows.stop, name);

  await world.run(rows.down, name);

  assert.deepEqual(await remarks(), []);
});

test("hooks that were changed just before a stop are the ones that run", async (t) => {
  const { world, agent } = await withHooks(t);
  const { node } = agent();
  node.hooks = null;

  await world.run(rows.stop, name);

  assert.deepEqual(ranFor(node.lifecycles[0]?.runs ?? []), ["0 stop SUCCEEDED"]);
});
