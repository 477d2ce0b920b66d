import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgent } from "../../helpers/agent.ts";

test("the list shows each job as it is shown alone, newest first", async (t) => {
  const agent = await startAgent(t);
  const odd = {
    name: 'a "quoted" näme\n',
    metadata: { tags: ["x", 1, null], nested: { on: true } },
  };

  const first = await agent.submit("exit 3", odd);
  const second = await agent.submit(null, { userName: "bob" });
  await agent.untilJob(first.id);
  await agent.untilJob(second.id);

  const alone = [await agent.call("getJob", { id: 2 }), await agent.call("getJob", { id: 1 })];
  assert.deepEqual(await agent.call("listJobs", {}), alone);
  assert.deepEqual(await agent.call("listJobs", { user: "bob" }), alone.slice(0, 1));
  assert.deepEqual(await agent.call("listJobs", { limit: 1 }), alone.slice(0, 1));
  assert.deepEqual(await agent.call("listJobs", { active: "true" }), []);
});
