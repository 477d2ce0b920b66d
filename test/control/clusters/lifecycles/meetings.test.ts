import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { name, withHooks } from "../hooked-cluster.ts";

const both = `
run: echo hi
config:
  hooks:
    - { run: first, events: [stop, down] }
    - { run: only-stop, events: [stop] }
    - { run: only-down, events: [down] }
`;
const closed = new AppError("CloudError", "the cloud is closed");
const ranFor = (runs: readonly { index: number; event: string; status: string }[] | undefined) =>
  runs?.map(({ index, event, status }) => `${index} ${event} ${status}`);

test("stop meets stop: it joins", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  const { node } = agent();
  const first = await world.call(rows.stop, name);
  await hookRuns();

  const second = await world.call(rows.stop, name);
  await world.look("demo");
  agent().endHook();
  await Promise.all([world.get(rows.stop, first), world.get(rows.stop, second)]);

  assert.equal(node.lifecycles.length, 1);
  assert.deepEqual(ranFor(node.lifecycles[0]?.runs), ["0 stop SUCCEEDED"]);
});

test("down meets down: it joins", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  const { node } = agent();
  const first = await world.call(rows.down, name);
  await hookRuns();

  const second = await world.call(rows.down, name);
  agent().endHook();
  await Promise.all([world.get(rows.down, first), world.get(rows.down, second)]);

  assert.equal(node.lifecycles.length, 1);
});

test("down meets the hooks of a stop: what ran does not run again, what is for stop alone is dropped", async (t) => {
  const { world, agent, hookRuns, untilLifecycle } = await withHooks(t, {
    task: both,
    holds: true,
  });
  const { node } = agent();
  const stop = await world.call(rows.stop, name);
  await hookRuns();

  const down = await world.call(rows.down, name);
  await untilLifecycle(({ events }) => events.includes("down"));
  agent().endHook();
  agent().endHook();
  await world.get(rows.down, down);

  assert.deepEqual(ranFor(node.lifecycles[0]?.runs), ["0 stop SUCCEEDED", "2 down SUCCEEDED"]);
  assert.equal(node.lifecycles.length, 1);
  await assert.rejects(world.get(rows.stop, stop), { message: /being taken down meanwhile/ });
});

test("down meets a stop that the provider was asked for: that ends first, then down without hooks", async (t) => {
  const { world, remarks } = await withHooks(t);
  const release = world.provider.holds("stop");
  const stop = await world.call(rows.stop, name);
  await world.provider.held("stop");

  const down = await world.call(rows.down, name);
  release();
  await world.get(rows.down, down);

  assert.deepEqual(await world.moves("demo"), ["INIT>UP", "UP>STOPPED", "STOPPED>GONE"]);
  assert.equal((await remarks()).at(-1), "hooks skipped: cluster demo is stopped");
  await world.get(rows.stop, stop).catch(() => {});
});

test("down meets a stop that the provider cannot do: it need not wait", async (t) => {
  const { world } = await withHooks(t);
  world.provider.fails("stop", closed);
  await assert.rejects(world.run(rows.stop, name), { type: "CloudError" });

  await assert.rejects(world.run(rows.down, name), { type: "CloudError" });
  await world.untilStatus("demo", "GONE");

  assert.equal(world.provider.machines.size, 0);
});

test("stop meets the hooks of a down: it is refused", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  const down = await world.call(rows.down, name);
  await hookRuns();

  await assert.rejects(world.run(rows.stop, name), {
    type: "ConflictError",
    message: "cluster demo is being taken down (down by local)",
  });

  agent().endHook();
  await world.get(rows.down, down);
});

for (const [row, fields] of [
  [rows.stop, { skip_hooks: true }],
  [rows.down, { skip_hooks: true }],
  [rows.down, { purge: true }],
] as const)
  test(`${row.name} with ${Object.keys(fields)} meets hooks: they end, and the rest is skipped`, async (t) => {
    const { world, agent, hookRuns, remarks } = await withHooks(t, { task: both, holds: true });
    const { node } = agent();
    await world.call(rows.stop, name);
    await hookRuns();

    await world.run(row, { ...name, ...fields });

    const runs = ranFor(node.lifecycles[0]?.runs) ?? [];
    assert.equal(runs[0], "0 stop INTERRUPTED");
    assert.ok(
      runs.slice(1).every((run) => run.endsWith("SKIPPED")),
      runs.join(),
    );
    const who = new RegExp(`was skipped: hooks are skipped \\(${row.name} by local\\)`);
    assert.match((await remarks()).join("\n"), who);
  });

test("a stop without hooks begins none, and does not wait for a head that is away", async (t) => {
  const { world, id, remarks } = await withHooks(t);
  world.provider.agentsStart = false;
  await world.provider.silence(id, 0);

  await world.run(rows.stop, { ...name, skip_hooks: true });

  assert.deepEqual(await remarks(), ["hooks skipped: the head of demo does not answer"]);
});

test("who joins a stop without hooks does not bring them back", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { task: both, holds: true });
  const { node } = agent();
  const release = world.provider.holds("stop");
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const hasty = await world.call(rows.stop, { ...name, skip_hooks: true });
  await world.provider.held("stop");

  const third = await world.call(rows.stop, name);
  release();
  for (const id of [stop, hasty, third]) await world.get(rows.stop, id);

  assert.equal(node.lifecycles.length, 1);
});

test("cancel of a stop while its hooks run: no further hook begins, and the cluster stays up", async (t) => {
  const { world, agent, hookRuns, untilLifecycle, remarks } = await withHooks(t, {
    task: both,
    holds: true,
  });
  const { node } = agent();
  const stop = await world.call(rows.stop, name);
  await hookRuns();

  await world.cancel(stop);
  const { status, runs } = await untilLifecycle(({ endedAt }) => endedAt !== null);
  const shown = async () => {
    const [record] = await world.run(rows.status, { cluster_names: ["demo"] });
    return record?.lifecycle && [record.lifecycle.phase, record.lifecycle.hook?.index];
  };
  const whileItRuns = await shown();
  agent().endHook();
  await untilLifecycle((one) => one.runs.every((run) => run.status === "SUCCEEDED"));

  assert.deepEqual([whileItRuns, await shown()], [["CANCELLED", 0], undefined]);
  assert.equal(status, "CANCELLED");
  assert.equal(runs.length, 1);
  assert.equal((await world.cluster("demo")).wanted, "UP");
  assert.equal((await world.run(rows.exec, { ...name, task: "run: echo on" })).job_id, 2);
  assert.equal(node.lifecycles.length, 1);
  assert.match(await world.printed(stop), /cluster demo stays up: the stop is cancelled/);
  assert.deepEqual(await remarks(), [
    "the stop is cancelled (stop cancelled by local)",
    "hook 1 of 3 (stop) succeeded after 1.2 s",
  ]);
  const ask = { ...name, event_type: "NOTEWORTHY" };
  const noteworthy = await world.run(rows.clusterEvents, ask);
  assert.equal(noteworthy.at(-1), "the stop is cancelled (stop cancelled by local)");
});

test("cancel of a stop whose hooks are over, before the provider is asked", async (t) => {
  const { world, agent, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const release = world.provider.holds("list");
  agent().endHook();
  await untilLifecycle(({ status }) => status === "READY");

  await world.cancel(stop);
  release();
  await untilLifecycle(({ status }) => status === "CANCELLED");

  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
  assert.equal(agent().node.lifecycles[0]?.status, "DONE", "in the words of the head");
});

test("cancel of a stop that the provider was asked for comes too late", async (t) => {
  const { world } = await withHooks(t);
  const release = world.provider.holds("stop");
  const stop = await world.call(rows.stop, name);
  await world.provider.held("stop");

  await world.cancel(stop);
  release();

  await world.untilStatus("demo", "STOPPED");
  assert.match(await world.printed(stop), /the stop of cluster demo continues/);
});

test("cancel of one of two downs leaves the other alone; cancel of both takes it back", async (t) => {
  const { world, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
  const first = await world.call(rows.down, name);
  const second = await world.call(rows.down, name);
  await hookRuns();

  await world.cancel(first);
  assert.equal((await world.cluster("demo")).wanted, "GONE");
  await world.cancel(second);
  await untilLifecycle(({ status }) => status === "CANCELLED");

  assert.equal((await world.cluster("demo")).wanted, "UP");
});

test("a stop after a down that was taken back is a stop", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  const down = await world.call(rows.down, name);
  await hookRuns();
  await world.cancel(down);

  const stop = await world.call(rows.stop, { ...name, skip_hooks: true });
  await world.get(rows.stop, stop);

  assert.equal((await world.cluster("demo")).status, "STOPPED");
  assert.equal(world.provider.machines.size, 1);
  assert.equal(world.provider.calls.includes("destroy 0"), false);
  assert.throws(() => agent(), /no agent/);
});

test("control that stops takes nothing back", async (t) => {
  const { world, hookRuns } = await withHooks(t, { holds: true });
  await world.call(rows.stop, name);
  await hookRuns();

  const after = await world.crash();

  assert.equal((await after.cluster("demo")).wanted, "STOPPED");
});

test("launch meets a stop: it waits, starts the cluster again, and its hooks are for the next time", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, { holds: true });
  const { node } = agent();
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  const task = "run: echo next\nconfig:\n  hooks: [{ run: new, events: [stop] }]";

  const launch = await world.call(rows.launch, { ...name, task });
  await world.untilNote(launch, /waits until cluster demo is stopped \(stop by local\)/);
  agent().endHook();
  await world.get(rows.stop, stop);
  await world.get(rows.launch, launch);

  assert.deepEqual(
    node.hooks?.hooks.map(({ run }) => run),
    ["new"],
  );
  assert.equal(node.lifecycles[0]?.list.length, 3);
  assert.equal(node.jobs.length, 2);
});

test("a change of hooks during a lifecycle is for the next one", async (t) => {
  const { world, agent, hookRuns } = await withHooks(t, {
    holds: true,
    launch: { idle_minutes_to_autostop: 5 },
  });
  const { node } = agent();
  agent().becomeIdle();
  await hookRuns();
  await world.untilStatus("demo", "AUTOSTOPPING");

  const id = await world.call(rows.launch, {
    ...name,
    task: "run: echo\nconfig:\n  hooks: []",
    cancel_stop: true,
  });
  await world.get(rows.launch, id);
  agent().endHook();

  assert.deepEqual(node.hooks?.hooks, []);
  assert.deepEqual(ranFor(node.lifecycles[0]?.runs), ["0 stop SUCCEEDED"]);
});
