import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { submit } from "../../../../control/requests/run.ts";
import { until } from "../../../helpers/agent.ts";
import { aCaller } from "../../../helpers/callers.ts";
import { testWorld } from "../../../helpers/world.ts";

const name = { cluster_name: "demo" };

test("hooks of a real stop are followed from their node, and named to who waits", async (t) => {
  const world = await testWorld(t);
  const hooks = "[{run: save, events: [stop]}, {run: tell, events: [stop]}]";
  await world.run(rows.launch, { ...name, task: `{config: {hooks: ${hooks}}, run: 'true'}` });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  agent.node.holdsHooks = true;
  const stop = await world.call(rows.stop, name);
  const log = await world.call(rows.hookLogs, name);
  await until(async () => (await world.printed(stop)).includes("follow it") || undefined);

  agent.printHook("saving\n");
  await until(async () => (await world.printed(log)) === "saving\n" || undefined);
  agent.endHook(3);
  agent.printHook("telling\n");
  agent.endHook();
  await world.get(rows.stop, stop);

  assert.equal(await world.get(rows.hookLogs, log), 0);
  assert.equal(await world.printed(log), "saving\ntelling\n");
  const printed = await world.printed(stop);
  assert.match(
    printed,
    /^hook 1 of \d \(stop\) runs, for \d+ s at most; follow it: outrigger logs --hook demo$/m,
  );
  assert.match(printed, /^Ctrl-C leaves it running; to end it: outrigger stop demo --skip-hooks$/m);
  assert.match(printed, /^hook 1 of 2 \(stop\) exited with 3 /m);
});

test("who waits for a stop is told which of the hooks are for it, and of each that it runs", async (t) => {
  const world = await testWorld(t);
  const hooks = "[{run: save}, {run: flee, events: [preemption]}, {run: tell, events: [stop]}]";
  await world.run(rows.launch, { ...name, task: `{config: {hooks: ${hooks}}, run: 'true'}` });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  agent.node.holdsHooks = true;
  const stop = await world.call(rows.stop, name);
  for (const index of [1, 3]) {
    const runs = `hook ${index} of 3 (stop) runs, for `;
    await until(async () => (await world.printed(stop)).includes(runs) || undefined);
    agent.endHook();
  }
  await world.get(rows.stop, stop);
  await world.run(rows.start, name);
  agent.node.holdsHooks = false;
  const down = await world.call(rows.down, name);
  await world.get(rows.down, down);

  const printed = await world.printed(stop);
  assert.match(printed, /^hooks for stop: 1, 3 of 3\n/);
  assert.equal(printed.match(/follow it/g)?.length, 1);
  assert.match(await world.printed(down), /^hooks for down: 1 of 3$/m);
});

test("who asked for a teardown reads its hooks' log next, not that of the stop before", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  await world.run(rows.launch, { ...name, task: "{config: {hooks: [{run: x}]}, run: 'true'}" });
  const agent = world.provider.agentOf((await world.cluster("demo")).id);
  agent.node.holdsHooks = true;
  /** What its hooks say. */
  async function says(text: string) {
    await until(() => agent.node.lifecycles.at(-1)?.runs[0]?.status === "RUNNING" || undefined);
    agent.printHook(text);
    agent.endHook();
  }
  const stop = await world.call(rows.stop, name);
  await says("stopping\n");
  await world.get(rows.stop, stop);
  await world.run(rows.start, name);
  const down = await submit(ctx, rows.down, rows.down.input.body.parse(name), aCaller());

  const log = await world.call(rows.hookLogs, name);
  await world.run(rows.status, { cluster_names: ["demo"] });
  ctx.queues.push("short", down);
  await says("leaving\n");

  assert.equal(await world.get(rows.hookLogs, log), 0);
  assert.equal(await world.printed(log), "leaving\n");
});
