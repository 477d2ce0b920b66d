import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { listOpen } from "../../../../control/clusters/lifecycles/store.ts";
import { until } from "../../../helpers/agent.ts";
import { hooked, name, withHooks } from "../hooked-cluster.ts";

const minute = 60_000;

/** A cluster whose worker is taken away and saves something; control knows. */
async function withPreemptedWorker(t: TestContext) {
  const cluster = await withHooks(t, { task: `num_nodes: 2\n${hooked}` });
  const { world, agent, id, hookRuns } = cluster;
  agent(1).node.holdsHooks = true;
  agent(1).preempt("aws", Date.now() + minute);
  await hookRuns(1);
  await until(
    async () => (await listOpen(world.ctx.db, id)).some(({ runs }) => runs.length > 0) || undefined,
  );
  const calls = () => world.provider.calls.filter((call) => !call.startsWith("create"));
  const headIsReady = () =>
    until(() => agent().node.lifecycles.some(({ status }) => status === "READY") || undefined);
  return { ...cluster, calls, headIsReady, worker: agent(1).node };
}

for (const row of [rows.stop, rows.down])
  test(`${row.name} waits for what a worker that is taken away saves`, async (t) => {
    const { world, agent, calls, headIsReady, worker } = await withPreemptedWorker(t);
    const request = await world.call(row, name);
    await headIsReady();
    for (let round = 0; round < 3; round += 1) await world.look("demo");
    assert.deepEqual(calls(), []);

    agent(1).endHook();
    await world.get(row, request);

    assert.equal(worker.lifecycles[0]?.runs[0]?.status, "SUCCEEDED");
    assert.equal(calls().length, 2);
  });

test("no worker is waited for after it should have been taken away", async (t) => {
  const { world, calls, headIsReady } = await withPreemptedWorker(t);
  const down = await world.call(rows.down, name);
  await headIsReady();
  await world.look("demo");
  assert.deepEqual(calls(), []);

  world.advance(minute);
  await world.provider.silence((await world.cluster("demo")).id, 1);
  await world.look("demo");
  await world.get(rows.down, down);

  assert.equal(calls().length, 2);
});

test("no worker is waited for that is gone", async (t) => {
  const { world, id, calls, headIsReady } = await withPreemptedWorker(t);
  const down = await world.call(rows.down, name);
  await headIsReady();

  await world.provider.lose(id, 1);
  await world.look("demo");
  await world.get(rows.down, down);

  assert.deepEqual(calls(), ["destroy 0"]);
});

test("whoever skips the hooks has those of workers skipped too", async (t) => {
  const { world, worker } = await withPreemptedWorker(t);

  await world.run(rows.down, { ...name, skip_hooks: true });

  const [run] = worker.lifecycles[0]?.runs ?? [];
  assert.deepEqual(
    [run?.status, run?.reason],
    ["INTERRUPTED", "hooks are skipped (down by local)"],
  );
});
