import assert from "node:assert/strict";
import { test } from "node:test";
import { Health } from "../../../contract/agent-shapes.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import {
  type Answers,
  healthOf,
  healthTimeoutMs,
  noteHealth,
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
  const answers: Answers = new Map();
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
