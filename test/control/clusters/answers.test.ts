import assert from "node:assert/strict";
import { test } from "node:test";
import { Health } from "../../../contract/agent-shapes.ts";
import { Lifecycle } from "../../../contract/lifecycle-shapes.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import {
  healthOf,
  healthTimeoutMs,
  noAnswers,
  nodesOf,
  noteHealth,
  noteLifecycle,
} from "../../../control/clusters/answers.ts";
import { testWorld } from "../../helpers/world.ts";

const aHealth = (pid: number): Health =>
  Health.parse({
    ...{ version: "0", build: "0", pid, bootId: "boot", startedAt: 0, node: null },
    ...{ hooksVersion: null, lifecycle: null, lastSeq: 0 },
  });

test("an agent is not asked again for what it has just answered to an action", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { cluster_name: "demo", task: "{}" });
  const { calls } = world.provider.agentOf((await world.cluster("demo")).id);

  assert.deepEqual(calls.slice(0, 3), ["health", "configure", "setAutostop"]);

  calls.splice(0);
  await world.run(rows.down, { cluster_name: "demo" });

  const asked = calls.filter((name) => name === "health" || name === "beginLifecycle");
  assert.deepEqual(asked.slice(-2), ["health", "beginLifecycle"]);
});

test("an answer is taken for the health of a node once, and only for a short time", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const answers = noAnswers();
  const before = aHealth(1);
  const asked = aHealth(2);
  const look = () => healthOf(answers, 0, async () => asked);

  noteHealth(answers, 0, before);
  assert.equal(await look(), before);
  assert.equal(await look(), asked);

  noteHealth(answers, 0, before);
  now += healthTimeoutMs;
  assert.equal(await look(), asked);
});

const aLifecycle = Lifecycle.parse({
  ...{ id: "l1", revision: 1, events: ["stop"], cause: "user", because: "stop by ann" },
  ...{ status: "HOOKS", deadlineAt: null, startedAt: 1, endedAt: null },
  ...{ hooks: 0, runs: [], logs: [] },
});

const notes = [
  { what: "one under way is that of the node", told: aLifecycle, is: aLifecycle },
  { what: "one that has ended leaves none", told: { ...aLifecycle, endedAt: 1 }, is: null },
];

for (const { what, told, is } of notes)
  test(`of the lifecycles that answer an action, ${what}`, async () => {
    const answers = noAnswers();
    noteHealth(answers, 0, { ...aHealth(1), lifecycle: aLifecycle });

    noteLifecycle(answers, 0, told);

    const { pid, lifecycle } = await healthOf(answers, 0, async () => aHealth(2));
    assert.deepEqual([pid, lifecycle], [1, is]);
  });

test("a lifecycle says nothing of a node whose health is not known", async () => {
  const answers = noAnswers();
  const asked = aHealth(2);

  noteLifecycle(answers, 0, aLifecycle);

  assert.equal(await healthOf(answers, 0, async () => asked), asked);
});

test("nodes are listed again in a pass only after a short time, or once an action has changed them", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const answers = noAnswers();
  let lists = 0;
  const list = async () => {
    lists += 1;
    return [];
  };

  await nodesOf(answers, list);
  await nodesOf(answers, list);
  assert.equal(lists, 1);

  now += healthTimeoutMs;
  await nodesOf(answers, list);
  assert.equal(lists, 2);

  answers.nodes = undefined;
  await nodesOf(answers, list);
  assert.equal(lists, 3);
});
