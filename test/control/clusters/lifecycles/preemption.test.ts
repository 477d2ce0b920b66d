import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { listLifecycles, listOpen } from "../../../../control/clusters/lifecycles/store.ts";
import { until } from "../../../helpers/agent.ts";
import { hooked, name, withHooks } from "../hooked-cluster.ts";

const pair = { task: `num_nodes: 2\n${hooked}`, holds: true };
const inSeconds = (seconds: number): number => Date.now() + seconds * 1000;

test("control hears of a notice before the hooks are over, and tells of it", async (t) => {
  const { world, agent, id, hookRuns, untilLifecycle, remarks } = await withHooks(t, pair);

  agent(1).preempt("aws spot interruption", inSeconds(3_600));
  await hookRuns(1);
  const { rank, events, cause, runs } = await untilLifecycle((one) => one.runs.length > 0);

  assert.deepEqual({ rank, events, cause }, { rank: 1, events: ["preemption"], cause: "provider" });
  assert.equal(runs[0]?.status, "RUNNING");
  assert.equal((await world.cluster("demo")).status, "UP");
  assert.match(
    (await remarks())[0] ?? "",
    /^node 1 got a preemption notice \(aws spot interruption\) in 3[56]\d\d s$/,
  );
  assert.deepEqual((await listOpen(world.ctx.db, id)).length, 1);
});

test("a notice without an hour is told of without one", async (t) => {
  const { agent, remarks, untilLifecycle } = await withHooks(t, { holds: true });

  agent().preempt("SIGTERM");
  await untilLifecycle(({ runs }) => runs.length > 0);

  assert.deepEqual(await remarks(), ["node 0 got a preemption notice (SIGTERM)"]);
});

test("a notice that comes nearer is heard of, also where there are no hooks", async (t) => {
  const { agent, untilLifecycle } = await withHooks(t, { task: "run: train" });
  let before = Number.POSITIVE_INFINITY;
  // Control may still be reading what it heard of the first ones.
  for (const seconds of [5_000, 4_000, 3_000, 2_000, 1_000]) {
    agent().preempt("SIGTERM", inSeconds(seconds));
    const { hooks, deadlineAt } = await untilLifecycle(
      (one) => (one.deadlineAt ?? before) < before,
    );
    assert.equal(hooks, 0);
    before = deadlineAt ?? assert.fail();
  }
});

test("every node that got the notice runs its hooks; results name their node", async (t) => {
  const { world, agent, id, hookRuns, remarks } = await withHooks(t, pair);

  for (const rank of [0, 1]) agent(rank).preempt("gcp", inSeconds(30));
  await Promise.all([hookRuns(0), hookRuns(1)]);
  agent(1).endHook(1);
  const told = await until(async () => (await remarks()).find((line) => line.includes("hook")));

  assert.equal(told, "node 1 says: hook 3 of 3 (preemption) exited with 1 after 1.2 s");
  assert.deepEqual((await listOpen(world.ctx.db, id)).map(({ rank }) => rank).toSorted(), [0, 1]);
});

test("a preempted node that goes is replaced, and its lifecycle is over", async (t) => {
  const { world, agent, id, hookRuns } = await withHooks(t, pair);
  agent(1).preempt("aws", inSeconds(30));
  await hookRuns(1);
  await until(async () => (await listOpen(world.ctx.db, id)).length === 1 || undefined);

  await world.provider.lose(id, 1);
  await until(async () => (await listOpen(world.ctx.db, id)).length === 0 || undefined);
  await world.provider.created(1);
  await world.untilStatus("demo", "UP");

  const [one] = await listLifecycles(world.ctx.db, id);
  assert.equal(one?.status, "DONE");
  assert.equal(one?.runs[0]?.status, "INTERRUPTED", "nobody saw how the hook ended");
});

test("a notice that comes to nothing ends by itself", async (t) => {
  const { world, agent, untilLifecycle, remarks } = await withHooks(t);

  agent().preempt("azure", inSeconds(1));
  await untilLifecycle(({ status }) => status === "READY");
  agent().spare();
  await untilLifecycle(({ status }) => status === "CANCELLED");

  assert.equal((await remarks()).at(-1), "node 0 was not taken away; it accepts jobs again");
  assert.equal((await world.run(rows.exec, { ...name, task: "run: echo" })).job_id, 2);
});

test("the reconciler lets a preemption be", async (t) => {
  const { world, agent, untilLifecycle } = await withHooks(t, { holds: true });
  agent().preempt("aws", inSeconds(30));
  await untilLifecycle(({ runs }) => runs.length > 0);

  await world.look("demo");

  assert.equal(agent().calls.includes("cancelLifecycle"), false);
});

test("a preemption that began while control was away is adopted", async (t) => {
  const { world, agent, id, hookRuns } = await withHooks(t, { holds: true });
  world.ctx.watches.forget(id);
  agent().preempt("aws", inSeconds(30));
  await hookRuns();

  await world.look("demo");

  const open = await until(async () => {
    const found = await listOpen(world.ctx.db, id);
    return found.length > 0 ? found : undefined;
  });
  assert.deepEqual(open[0]?.events, ["preemption"]);
});

for (const [row, events, says] of [
  [
    rows.stop,
    ["preemption", "stop"],
    /warning: node 0 .*\(aws\); the provider decides whether it is stopped/,
  ],
  [rows.down, ["preemption", "down"], /warning: node 0 .*\(aws\); hooks for down run only while/],
] as const)
  test(`${row.name} meets a preemption: it is joined to it, and warns`, async (t) => {
    const { world, agent, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
    const { node } = agent();
    agent().preempt("aws", inSeconds(30));
    await hookRuns();
    await untilLifecycle(({ runs }) => runs.length > 0);

    const id = await world.call(row, name);
    const lifecycle = await untilLifecycle((one) => one.events.length > 1);
    agent().endHook();
    agent().endHook();
    await world.get(row, id);

    assert.deepEqual(lifecycle.events, events);
    assert.equal(node.lifecycles.length, 1);
    assert.match(await world.printed(id), says);
    assert.equal((await world.cluster("demo")).status, row === rows.stop ? "STOPPED" : "GONE");
  });

test("a preemption meets the hooks of a stop: it comes first, with its deadline", async (t) => {
  const { world, agent, hookRuns, untilLifecycle, remarks } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const deadlineAt = inSeconds(30);

  agent().preempt("aws", deadlineAt);
  const lifecycle = await untilLifecycle(({ events }) => events[0] === "preemption");
  agent().endHook();
  agent().endHook();
  await world.get(rows.stop, stop);

  const lateMs = (lifecycle.deadlineAt ?? 0) - deadlineAt;
  assert.ok(lateMs >= 0 && lateMs < 10_000, `${lateMs} ms later than the node said`);
  assert.match((await remarks())[0] ?? "", /node 0 got a preemption notice \(stop by/);
});

test("a stopped cluster whose head was lost in a preemption goes on without its hooks", async (t) => {
  const { world, agent, id, hookRuns, remarks } = await withHooks(t, pair);
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  agent().preempt("aws", inSeconds(30));

  await world.provider.lose(id, 0);
  await world.look("demo");
  await world.get(rows.stop, stop);

  assert.match((await remarks()).join("\n"), /hook 1 of 3 \(stop\) ran when node 0 was lost/);
});

test("a stop that met a preemption and is taken back leaves the preemption alone", async (t) => {
  const { world, agent, id, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
  agent().preempt("aws", inSeconds(30));
  await hookRuns();
  const stop = await world.call(rows.stop, name);
  await untilLifecycle(({ events }) => events.includes("stop"));

  await world.cancel(stop);
  await untilLifecycle(({ events }) => !events.includes("stop"));
  agent().endHook();
  await untilLifecycle(({ status }) => status === "READY");
  await world.look("demo");
  assert.equal((await listOpen(world.ctx.db, id)).length, 1);
  agent().spare();
  await untilLifecycle(({ status }) => status === "CANCELLED");

  assert.equal((await world.cluster("demo")).status, "UP");
  assert.equal((await world.run(rows.exec, { ...name, task: "run: echo" })).job_id, 2);
});

test("a launch on a node that is being taken away waits for what comes of it", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  agent().preempt("aws", inSeconds(30));
  await hookRuns();

  const launch = await world.call(rows.launch, { ...name, task: "run: echo next" });
  await world.untilNote(launch, /waits until cluster demo accepts jobs again: .*aws/);
  agent().endHook();
  agent().spare();

  assert.equal((await world.get(rows.launch, launch)).job_id, 2);
});

test("exec on a node that is being taken away is refused, and says why", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  agent().preempt("aws", inSeconds(30));
  await hookRuns();

  for (const cancel of [false, true])
    await assert.rejects(
      world.run(rows.exec, { ...name, task: "run: echo", cancel_stop: cancel }),
      { type: "ClusterNotUpError", message: /cluster demo: .*aws.*; launch waits/ },
    );
});
