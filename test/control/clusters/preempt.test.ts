import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listLifecycles } from "../../../control/clusters/lifecycles/store.ts";
import { until } from "../../helpers/agent.ts";
import { jobBed, train } from "../jobs/bed.ts";
import { hooked, name, withHooks } from "./hooked-cluster.ts";

const takesAway = true;
const pair = { task: `num_nodes: 2\n${hooked}`, takesAway };

test("a preempted node gets a notice, and is gone when its time is over", async (t) => {
  const { world, id, agent, remarks } = await withHooks(t, { ...pair, holds: true });
  const before = agent(1).node;

  let early = true;
  agent(1).node.onCall = (call) => {
    if (call === "preempt") early = world.provider.calls.includes("takeAway 1");
  };

  await world.run(rows.preempt, { ...name, rank: 1, notice_seconds: 0.3 });
  const [lifecycle] = await listLifecycles(world.ctx.db, id);

  assert.ok(!early, "it is told before it goes");
  assert.ok(Date.now() >= (lifecycle?.deadlineAt ?? Infinity), "its time is over");
  assert.partialDeepStrictEqual(lifecycle, { rank: 1, events: ["preemption"] });
  assert.match(lifecycle?.because ?? "", /^preempt by local$/);
  assert.deepEqual(
    world.provider.calls.filter((call) => /takeAway/.test(call)),
    ["takeAway 1"],
  );
  await until(() => world.provider.machines.size === 2 || undefined);
  await world.untilStatus("demo", "UP");
  assert.notEqual(agent(1).node, before, "another one takes its place");
  const told = (await remarks()).filter((line) => /taken away/.test(line));
  assert.deepEqual(told, [
    "node 1 is taken away in 0.3 s: preempt by local",
    "node 1 was taken away: preempt by local",
  ]);
});

test("every node that is lost gets no notice", async (t) => {
  const { world, id } = await withHooks(t, pair);

  await world.run(rows.preempt, { ...name, lose: true });

  assert.deepEqual(await listLifecycles(world.ctx.db, id), []);
  const gone = world.provider.calls.filter((call) => /takeAway/.test(call));
  assert.deepEqual(gone, ["takeAway 0", "takeAway 1"]);
});

test("a preemption goes on after a crash of control, to the same instant", async (t) => {
  const { world, remarks } = await withHooks(t, { takesAway });
  const id = await world.call(rows.preempt, { ...name, notice_seconds: 0.5 });
  await until(
    async () => (await remarks()).some((line) => /is taken away/.test(line)) || undefined,
  );

  const after = await world.crash();
  await after.get(rows.preempt, id);

  assert.deepEqual(
    world.provider.calls.filter((call) => /takeAway/.test(call)),
    ["takeAway 0"],
  );
});

test("a node that took the place of the one with notice stays", async (t) => {
  const { world, id, remarks } = await withHooks(t, { takesAway, holds: true });
  const request = await world.call(rows.preempt, { ...name, notice_seconds: 1 });
  await until(
    async () => (await remarks()).some((line) => /is taken away/.test(line)) || undefined,
  );
  await world.provider.lose(id, 0);
  await world.look("demo");
  await world.untilStatus("demo", "UP");

  await world.get(rows.preempt, request);

  assert.match(
    await world.printed(request),
    /node 0 of demo was replaced meanwhile and is not affected/,
  );
  assert.deepEqual(
    world.provider.calls.filter((call) => /takeAway/.test(call)),
    [],
  );
});

test("only a provider that can play the cloud takes machines away", async (t) => {
  const { world } = await withHooks(t);

  await assert.rejects(world.run(rows.preempt, { ...name, lose: true }), {
    type: "NotSupportedError",
    message: /^cluster demo runs on fake, where only fake takes machines away; preempt is for/,
  });
});

test("a node that the cluster does not have is refused", async (t) => {
  const { world } = await withHooks(t, pair);

  await assert.rejects(world.run(rows.preempt, { ...name, rank: 2, lose: true }), {
    type: "ValueError",
    message: "cluster demo has nodes 0 to 1, not 2",
  });
});

test("a managed job whose machine is preempted for a try runs again", async (t) => {
  const bed = await jobBed(t, { takesAway });
  await bed.launch(train);
  await bed.untilTask(1, "RUNNING");

  await bed.world.run(rows.preempt, { cluster_name: "train-1", lose: true });

  const { recoveries } = await bed.untilAttempt(1, 2);
  assert.equal(recoveries, 1);
});
