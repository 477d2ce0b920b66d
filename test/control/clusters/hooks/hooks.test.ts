import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { until } from "../../../helpers/agent.ts";
import type { FakeNode } from "../../../helpers/fake-node.ts";
import { testWorld } from "../../../helpers/world.ts";
import { type Hooked, hooked, name, withHooks } from "../hooked-cluster.ts";

const scriptsOf = ({ hooks }: FakeNode) => hooks?.hooks.map(({ run }) => run);
const all = ["save-on-stop", "leave-on-down", "flee"];
const legacy = (more: string) => `
run: echo hi
resources:
  autostop: { idle_minutes: 5, hook: old-way, hook_timeout: 60${more} }
`;

test("every node is told the hooks, with what they run in", async (t) => {
  const { agent } = await withHooks(t, {
    task: `num_nodes: 2\nenvs: { MODE: fast }\nsecrets: { TOKEN: opensesame }\n${hooked}`,
  });

  for (const rank of [0, 1]) {
    const { hooks } = agent(rank).node;
    assert.deepEqual(hooks?.hooks, [
      { run: "save-on-stop", events: ["stop"], timeoutSeconds: 3600 },
      { run: "leave-on-down", events: ["down"], timeoutSeconds: 3600 },
      { run: "flee", events: ["preemption"], timeoutSeconds: 20 },
    ]);
    assert.deepEqual(hooks?.secrets, { TOKEN: "opensesame" });
    const { MODE, OUTRIGGER_USER, OUTRIGGER_NUM_NODES, OUTRIGGER_CLUSTER_INFO } = hooks?.env ?? {};
    assert.deepEqual([MODE, OUTRIGGER_USER, OUTRIGGER_NUM_NODES], ["fast", "local", "2"]);
    assert.deepEqual(JSON.parse(OUTRIGGER_CLUSTER_INFO ?? ""), {
      cluster_name: "demo",
      cloud: "fake",
      region: "here",
      zone: null,
    });
  }
});

test("a node of a cluster without hooks is told nothing of hooks", async (t) => {
  const { agent } = await withHooks(t, { task: "run: echo hi" });

  assert.equal(agent().calls.includes("putHooks"), false);
});

test("a relaunch without a list keeps the hooks, with another replaces them, with none clears them", async (t) => {
  const { world, agent } = await withHooks(t, { task: `envs: { MODE: old }\n${hooked}` });
  const relaunch = async (task: string) => {
    await world.run(rows.launch, { ...name, task: `envs: { MODE: new }\nrun: echo\n${task}` });
    return [scriptsOf(agent().node), agent().node.hooks?.env["MODE"]];
  };

  assert.deepEqual(await relaunch(""), [all, "old"]);
  assert.deepEqual(await relaunch("config: { hooks: [{ run: other }] }"), [["other"], "new"]);
  assert.deepEqual(await relaunch("config: { hooks: [] }"), [[], undefined]);
});

test("exec touches no hooks, whatever its task says", async (t) => {
  const { world, agent } = await withHooks(t);

  await world.run(rows.exec, { ...name, task: "run: echo\nconfig: { hooks: [{ run: other }] }" });
  await world.look("demo");

  assert.deepEqual(scriptsOf(agent().node), all);
});

test("stop and start keep the hooks, and so does a control that starts anew", async (t) => {
  const { world, agent } = await withHooks(t);
  await world.run(rows.stop, name);
  await world.run(rows.start, name);
  assert.deepEqual(scriptsOf(agent().node), all);

  const after = await world.crash();
  agent().node.hooks = null;
  await after.look("demo");

  assert.deepEqual(scriptsOf(agent().node), all);
});

test("a node that has other hooks is told again", async (t) => {
  const { world, agent } = await withHooks(t);
  const { node } = agent();
  node.hooks = { version: "another", hooks: [], env: {}, secrets: {} };

  await world.look("demo");

  assert.deepEqual(scriptsOf(node), all);
  assert.deepEqual(await world.moves("demo"), ["INIT>UP"]);
});

test("a relaunch of a stopped cluster brings its hooks to the nodes that start", async (t) => {
  const { world, agent } = await withHooks(t);
  await world.run(rows.stop, name);

  await world.run(rows.launch, { ...name, task: "run: echo\nconfig: { hooks: [{ run: other }] }" });

  assert.deepEqual(scriptsOf(agent().node), ["other"]);
});

test("secrets of hooks lie nowhere readable", async (t) => {
  const { world } = await withHooks(t, { task: `secrets: { TOKEN: opensesame }\n${hooked}` });

  const folder = join(world.home, "control");
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (file.isFile())
      assert.ok(!readFileSync(join(file.parentPath, file.name)).includes("opensesame"), file.name);
});

for (const [more, event] of [
  ["", "stop"],
  [", down: true", "down"],
] as const)
  test(`autostop.hook is the first hook for ${event}`, async (t) => {
    const { world, agent } = await withHooks(t, {
      task: `${legacy(more)}config: { hooks: [{ run: other }] }`,
    });

    const [first, second] = agent().node.hooks?.hooks ?? [];
    assert.deepEqual(first, { run: "old-way", events: [event], timeoutSeconds: 60 });
    assert.equal(second?.run, "other");
    await world.run(rows.down, name);
    const ran = event === "down" ? "hook 1 of 2 (down)" : "hook 2 of 2 (down)";
    const events = await world.run(rows.clusterEvents, { ...name, event_type: "DEBUG" });
    assert.ok(
      events.some((line) => String(line).startsWith(ran)),
      ran,
    );
  });

test("a launch with autostop.hook says that it is deprecated", async (t) => {
  const world = await testWorld(t);
  const id = await world.call(rows.launch, { ...name, task: legacy("") });
  await world.get(rows.launch, id);

  assert.match(await world.printed(id), /`hook` is deprecated.*events: \[stop\]/);
});

test("autostop with a hook keeps it through later ones, and moves it with the down flag", async (t) => {
  const { world, agent } = await withHooks(t, { task: "envs: { MODE: fast }\nrun: echo hi" });
  const firstOf = () => agent().node.hooks?.hooks[0];
  const id = await world.call(rows.autostop, {
    ...name,
    idle_minutes: 5,
    hook: "late",
    hook_timeout: 9,
  });
  await world.get(rows.autostop, id);
  assert.match(await world.printed(id), /`hook` is deprecated.*events: \[stop\]/);
  assert.deepEqual(firstOf(), { run: "late", events: ["stop"], timeoutSeconds: 9 });
  assert.equal(agent().node.hooks?.env["MODE"], "fast");

  await world.run(rows.autostop, { ...name, idle_minutes: 7, down: true });
  assert.deepEqual(firstOf(), { run: "late", events: ["down"], timeoutSeconds: 9 });
  await world.run(rows.start, { ...name, idle_minutes_to_autostop: 8 });
  assert.deepEqual(firstOf()?.events, ["stop"]);
  await world.run(rows.launch, { ...name, task: "run: echo", idle_minutes_to_autostop: 9 });
  assert.equal(firstOf()?.run, "late");

  await world.run(rows.autostop, { ...name, idle_minutes: -1 });
  assert.deepEqual(agent().node.hooks?.hooks, []);
});

for (const [what, list, left] of [
  ["an empty list", "[]", []],
  ["another list", "[{ run: other }]", ["other"]],
] as const)
  test(`${what} replaces an older hook of autostop, too`, async (t) => {
    const { world, agent } = await withHooks(t, { task: legacy("") });
    const relaunch = async (task: string) => {
      await world.run(rows.launch, { ...name, task });
      return scriptsOf(agent().node);
    };
    assert.deepEqual(await relaunch("run: echo"), ["old-way"]);

    assert.deepEqual(await relaunch(`run: echo\nconfig: { hooks: ${list} }`), left);
    assert.equal(agent().node.autostop.idleMs, 5 * 60_000, "autostop itself stays");
    assert.deepEqual(await relaunch(`${legacy("")}config: { hooks: ${list} }`), [
      "old-way",
      ...left,
    ]);
  });

/** What a launch said of hooks and autostop. */
async function launchLines({ world }: Hooked, more: object): Promise<string[]> {
  const id = await world.call(rows.launch, { ...name, task: "run: echo hi", ...more });
  await world.get(rows.launch, id);
  return (await world.printed(id)).split("\n").filter((line) => /^(hooks|autostop):/.test(line));
}

test("a launch says which hooks are set or kept", async (t) => {
  const at = await withHooks(t);
  const list = (hooks: string) => ({ task: `run: echo\nconfig: { hooks: ${hooks} }` });

  assert.deepEqual(await launchLines(at, {}), ["hooks: 3 (stop, preemption, down), kept"]);
  const stopOnly = list("[{ run: other, events: [stop] }]");
  assert.deepEqual(await launchLines(at, stopOnly), ["hooks: 1 (stop)"]);
  assert.deepEqual(await launchLines(at, list("[]")), []);
});

test("a launch says what it changes of autostop", async (t) => {
  const world = await testWorld(t);
  const at = { world } as Hooked;
  const after = (idle_minutes_to_autostop: number, down = false) =>
    launchLines(at, { idle_minutes_to_autostop, down });

  assert.deepEqual(await after(10), ["autostop: stop after 10 min"]);
  assert.deepEqual(await after(10), []);
  const task = legacy(", wait_for: none");
  assert.deepEqual(await launchLines(at, { task }), [
    "autostop: stop after 5 min, ignoring jobs (was: stop after 10 min)",
    "hooks: 1 (stop)",
  ]);
  assert.deepEqual(await launchLines(at, {}), ["hooks: 1 (stop), kept"]);
  const [changed] = await after(15, true);
  assert.equal(changed, "autostop: down after 15 min (was: stop after 5 min, ignoring jobs)");
  assert.deepEqual(await after(-1), ["autostop: off (was: down after 15 min)"]);
  assert.deepEqual(await after(0, true), ["autostop: down as soon as it is idle (was: off)"]);
});

test("status shows the hooks of a cluster, without the values of secrets", async (t) => {
  const long = "x".repeat(200);
  const { world } = await withHooks(t, {
    task: `
secrets: { TOKEN: opensesame }
resources: { autostop: { idle_minutes: 5, hook: "login opensesame" } }
config:
  hooks:
    - { run: "\\n ${long}\\nmore", timeout: 9 }
run: echo hi`,
  });
  const hooksOf = async (more: object = {}) => (await world.run(rows.status, more))[0]?.hooks;

  const wanted = [
    { events: ["stop"], timeout: 3600, run: "login [secret]", is_legacy: true },
    { events: ["stop", "preemption", "down"], timeout: 9, run: "x".repeat(80) },
  ];
  assert.deepEqual(await hooksOf(), wanted);
  assert.deepEqual(await hooksOf({ summary_response: true }), wanted);
  await world.run(rows.launch, { ...name, task: "run: echo\nconfig: { hooks: [] }" });
  assert.equal(await hooksOf(), undefined);
});

test("autostop refuses a hook that could not run", async (t) => {
  const { world } = await withHooks(t);
  const wrong = [
    [{ hook_timeout: 5 }, /hook_timeout needs a hook/],
    [{ hook: " " }, /hook must not be empty/],
    [{ hook: "x".repeat(16 * 1024 + 1) }, /must not exceed 16 KiB/],
    [{ hook: "x", hook_timeout: 0 }, /between 1 and 86400, not 0/],
    [{ hook: "x", hook_timeout: 86_401 }, /between 1 and 86400, not 86401/],
  ] as const;

  for (const [fields, message] of wrong)
    await assert.rejects(world.run(rows.autostop, { ...name, idle_minutes: 5, ...fields }), {
      message,
    });
});

test("a launch warns of preemption hooks that take longer than the notice of the provider", async (t) => {
  const warned = async (noticeSeconds: number | undefined, dryrun: boolean) => {
    const world = await testWorld(t, noticeSeconds === undefined ? {} : { noticeSeconds });
    const id = await world.call(rows.launch, { ...name, task: hooked, dryrun });
    await world.get(rows.launch, id);
    return /warning: the preemption hooks may take 20 s in total, but fake .* 10 s after/.test(
      await world.printed(id),
    );
  };

  for (const dryrun of [false, true]) {
    assert.equal(await warned(10, dryrun), true);
    assert.equal(await warned(20, dryrun), false);
    assert.equal(await warned(undefined, dryrun), false);
  }
});

test("a worker that could not be told of new hooks is told once it answers", async (t) => {
  const { world, agent, id } = await withHooks(t, { task: `num_nodes: 2\n${hooked}` });
  await world.provider.silence(id, 1);

  await world.run(rows.launch, { ...name, task: "run: echo\nconfig: { hooks: [{ run: other }] }" });

  await until(() => {
    const there = world.provider.machines.get(`${id}-1`)?.agent;
    return (there && scriptsOf(there.node)?.[0] === "other") || undefined;
  });
  assert.deepEqual(scriptsOf(agent().node), ["other"]);
});
