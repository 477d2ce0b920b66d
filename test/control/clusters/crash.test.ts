import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listLifecycles } from "../../../control/clusters/lifecycles/store.ts";
import { until } from "../../helpers/agent.ts";
import { asks, name, withHooks } from "./hooked-cluster.ts";

/** Control is killed at some moment of a stop; whatever came before, the hooks run once. */

const full = new AppError("RuntimeError", "not now");
const fails = () => {
  throw full;
};
const once = "hook 1 of 3 (stop) succeeded after 1.2 s";

test("killed after the wish was written down", async (t) => {
  const { world, agent, id } = await withHooks(t);
  const { node } = agent();
  const release = world.provider.holds("list");
  const stop = await world.call(rows.stop, name);
  await world.provider.held("list");

  const after = await world.crash();
  release();
  await after.get(rows.stop, stop);

  assert.equal(node.lifecycles.length, 1);
  assert.deepEqual(await asks(after, id).remarks(), [once]);
});

for (const moment of ["onBegin", "onBegun"] as const)
  test(`killed with the lifecycle written down, ${moment} of it at the head`, async (t) => {
    const { world, agent, id, untilLifecycle } = await withHooks(t);
    const { node } = agent();
    node[moment] = fails;
    const stop = await world.call(rows.stop, name);
    const { id: lifecycleId } = await untilLifecycle(() => true);
    await until(() => agent().calls.includes("beginLifecycle") || undefined);

    const after = await world.crash();
    node[moment] = () => {};
    await after.get(rows.stop, stop);

    assert.deepEqual(
      node.lifecycles.map((one) => one.id),
      [lifecycleId],
    );
    assert.deepEqual(await asks(after, id).remarks(), [once]);
    assert.equal((await listLifecycles(after.ctx.db, id)).length, 1);
  });

test("killed while hooks run, which end before it is back", async (t) => {
  const { world, agent, id, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
  const { node } = agent();
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  await untilLifecycle(({ runs }) => runs.length === 1);

  const after = await world.crash();
  agent().endHook();
  await after.get(rows.stop, stop);

  assert.equal(node.lifecycles.length, 1);
  assert.deepEqual(await asks(after, id).remarks(), [once]);
});

test("killed while hooks run, which end once it is back", async (t) => {
  const { world, agent, id, hookRuns } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();

  const after = await world.crash();
  await until(() => after.ctx.watches.has(id) || undefined);
  agent().endHook();
  await after.get(rows.stop, stop);

  assert.deepEqual(await asks(after, id).remarks(), [once]);
});

test("killed while the provider is called: it is called again, and hooks do not run again", async (t) => {
  const { world, agent, id } = await withHooks(t);
  const { node } = agent();
  const release = world.provider.holds("stop");
  const stop = await world.call(rows.stop, name);
  await world.provider.held("stop");

  const after = await world.crash();
  release();
  await after.get(rows.stop, stop);

  assert.equal(node.lifecycles.length, 1);
  assert.deepEqual(await asks(after, id).remarks(), [once]);
  assert.deepEqual(await after.moves("demo"), ["INIT>UP", "UP>STOPPED"]);
});

test("killed right after a stop was taken back: the head is told", async (t) => {
  const { world, agent, hookRuns, id } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const release = world.provider.holds("list");
  await world.cancel(stop);

  const after = await world.crash();
  release();
  await asks(after, id).untilLifecycle(({ status }) => status === "CANCELLED");

  assert.equal((await after.cluster("demo")).wanted, "UP");
  assert.equal(agent().node.lifecycles[0]?.status, "CANCELLED");
});

test("an idle stop that began while control was away is adopted", async (t) => {
  const { world, agent, hookRuns, id } = await withHooks(t, {
    holds: true,
    launch: { idle_minutes_to_autostop: 5 },
  });
  world.ctx.watches.forget(id);
  agent().becomeIdle();
  await hookRuns();

  const after = await world.crash();
  await after.untilStatus("demo", "AUTOSTOPPING");
  agent().endHook();
  await after.untilStatus("demo", "STOPPED");

  assert.deepEqual(await asks(after, id).remarks(), [once]);
});

test("a head that turned itself off while control was away, in the middle of an idle stop", async (t) => {
  const { world, agent, hookRuns, id } = await withHooks(t, {
    holds: true,
    launch: { idle_minutes_to_autostop: 5 },
  });
  const { node } = agent();
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");
  world.ctx.watches.forget(id);
  agent().endHook();
  await world.provider.stop?.(`${id}-0`, AbortSignal.timeout(60_000));

  const after = await world.crash();
  await after.untilStatus("demo", "STOPPED");
  const lost = "the head of demo turned itself off before it could report how its hooks ended";
  assert.ok((await asks(after, id).remarks()).includes(lost));
  await after.run(rows.start, name);

  const [one] = await listLifecycles(after.ctx.db, id);
  assert.deepEqual([one?.status, one?.runs[0]?.status], ["DONE", "SUCCEEDED"], "told by the head");
  assert.equal(node.lifecycles.length, 1);
});
