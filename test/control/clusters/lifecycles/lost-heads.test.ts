import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { until } from "../../../helpers/agent.ts";
import { type HookedOptions, name, withHooks } from "../hooked-cluster.ts";

const hour = 3_600_000;
const waits =
  /^the head of demo does not answer; hook 2 of 3 \(down\) may run there until .*Z and control waits for it; to skip it: outrigger down --skip-hooks demo$/;

/** A cluster whose head went silent while its hook for down runs; control waits for it. */
async function withLostHead(t: TestContext, options: HookedOptions = {}) {
  const config = { headPatienceSeconds: 0.2 };
  const hooked = await withHooks(t, { holds: true, config, ...options });
  const { world, id, hookRuns, untilLifecycle, remarks } = hooked;
  const { node } = hooked.agent();
  const down = await world.call(rows.down, name);
  await hookRuns();
  await untilLifecycle(({ runs }) => runs.length > 0);
  world.provider.agentsStart = false;
  await world.provider.silence(id, 0);
  await world.look("demo");
  await until(async () => (await remarks()).some((line) => waits.test(line)) || undefined);
  return { ...hooked, down, node };
}

const isGone = (calls: readonly string[]) => calls.includes("destroy 0");

test("a hook that was seen running is waited for although its head went silent", async (t) => {
  const { world, agent, down, node, remarks } = await withLostHead(t);

  for (let round = 0; round < 3; round += 1) await world.look("demo");
  assert.equal(isGone(world.provider.calls), false);
  assert.equal((await remarks()).filter((line) => waits.test(line)).length, 1);
  const wayOut = "to skip it: outrigger down --skip-hooks demo\n";
  await until(async () => (await world.printed(down)).includes(wayOut) || undefined);
  world.provider.agentsStart = true;
  await world.look("demo");
  agent().endHook();
  await world.get(rows.down, down);

  assert.deepEqual(
    node.lifecycles.flatMap(({ runs }) => runs.map(({ status }) => status)),
    ["SUCCEEDED"],
  );
});

test("a silent head whose hook has had its time is not waited for", async (t) => {
  const { world, down, remarks } = await withLostHead(t);

  world.advance(hour + 11_000);
  await world.look("demo");
  await world.get(rows.down, down);

  const last = (await remarks()).at(-1);
  assert.equal(
    last,
    "hook 2 of 3 (down) ran when the head of demo was last heard; it does not answer",
  );
});

test("a clock that is set forward does not end the wait for a hook, nor one that is set back prolong it", async (t) => {
  const { world, down } = await withLostHead(t);

  world.setClock(10 * hour);
  await world.look("demo");
  assert.equal(isGone(world.provider.calls), false);
  world.setClock(-20 * hour);
  world.advance(hour + 11_000);
  await world.look("demo");

  await world.get(rows.down, down);
});

test("whoever skips the hooks does not wait for a silent head", async (t) => {
  const { world, down, remarks } = await withLostHead(t);

  await world.run(rows.down, { ...name, skip_hooks: true });
  await world.get(rows.down, down);

  assert.match((await remarks()).at(-1) ?? "", /last heard, and is not waited for$/);
});

test("a head that is gone is not waited for, and what ran there is told", async (t) => {
  const { world, id, down, remarks } = await withLostHead(t);

  await world.provider.lose(id, 0);
  await world.look("demo");
  await world.get(rows.down, down);

  assert.equal((await remarks()).at(-1), "hook 2 of 3 (down) ran when node 0 was lost");
});
