import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { adoptLifecycles } from "../../../../control/clusters/lifecycles/adopt.ts";
import { name, withHooks } from "../hooked-cluster.ts";

/** A stop whose hooks are over, while the provider keeps control from going on with it. */
async function withReady(t: TestContext) {
  const hooked = await withHooks(t, { holds: true });
  const { world, agent, hookRuns, untilLifecycle } = hooked;
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const release = world.provider.holds("list");
  agent().endHook();
  await untilLifecycle(({ status }) => status === "READY");
  return { ...hooked, stop, release };
}

test("a stop that was ready to go and becomes a teardown runs the hooks of that before anything goes", async (t) => {
  const { world, agent, stop, release, untilLifecycle } = await withReady(t);

  const down = await world.call(rows.down, name);
  release();
  const row = await untilLifecycle(({ events }) => events.includes("down"));
  const [record] = await world.run(rows.status, { cluster_names: ["demo"] });

  assert.deepEqual([row.status, row.endedAt], ["HOOKS", null]);
  const { phase, action, hook, hooks_run: ran } = record?.lifecycle ?? {};
  assert.deepEqual([phase, action, hook?.index], ["HOOKS", "down", 1]);
  assert.deepEqual(
    ran?.map(({ index, event, status }) => [index, event, status]),
    [[0, "stop", "SUCCEEDED"]],
  );
  assert.deepEqual(world.provider.calls, ["create 0"]);
  agent().endHook();
  await world.get(rows.down, down);
  await assert.rejects(world.get(rows.stop, stop), { type: "ClusterNotUpError" });
  assert.deepEqual(world.provider.calls, ["create 0", "destroy 0"]);
});

test("an answer of before that arrives late takes no teardown back to its stop", async (t) => {
  const { world, agent, id, release, untilLifecycle } = await withReady(t);
  const { node } = agent();
  world.ctx.watches.forget(id);
  const { promise: late, resolve: arrives } = Promise.withResolvers<void>();
  const { promise: listed, resolve: isListed } = Promise.withResolvers<void>();
  node.onListed = () => {
    node.onListed = () => {};
    isListed();
    return late;
  };
  const cluster = await world.cluster("demo");
  const adopting = adoptLifecycles(world.ctx, cluster, 0, new AbortController().signal);
  await listed;

  const down = await world.call(rows.down, name);
  release();
  const before = await untilLifecycle(({ events }) => events.includes("down"));
  arrives();

  assert.equal(await adopting, false);
  assert.deepEqual(await untilLifecycle(() => true), before);
  assert.equal(before.status, "HOOKS");
  agent().endHook();
  await world.get(rows.down, down);
});
