import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { aNode, startAgent, type TestAgent, until } from "../helpers/agent.ts";
import { aHook, begin, letGo, putHooks, untilFile, untilStatus } from "./lifecycles/steps.ts";

const another = { ...aNode(), clusterId: "c2", clusterName: "other" };
const refusal = {
  name: "ConflictError",
  message: "the node works for cluster demo as rank 0; end its jobs and hooks first",
};

/** An agent whose hook runs until it is let go. */
async function anAgent(...args: Parameters<typeof startAgent>) {
  const agent = await startAgent(...args);
  await putHooks(agent, [aHook("touch ~/in; until [ -e ~/go ]; do sleep 0.05; done")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  return { agent, begun };
}

/** What lies on the node of lifecycles and their logs. */
const listLeft = ({ home }: TestAgent): string[] =>
  ["agent/lifecycles", "hooks"].flatMap((name) => {
    try {
      return readdirSync(join(home, ".outrigger", name));
    } catch {
      return [];
    }
  });

test("a node whose hook runs is given to no other cluster; once it is READY it has been removed", async (t) => {
  const { agent, begun } = await anAgent(t);
  await assert.rejects(agent.call("configure", another), refusal);
  letGo(agent);
  await untilStatus(agent, begun, "READY");
  assert.notDeepEqual(listLeft(agent), []);
  await agent.call("configure", another);

  assert.deepEqual(await agent.call("listLifecycles", {}), []);
  assert.deepEqual(listLeft(agent), []);
  const job = await agent.submit("true");
  assert.equal((await agent.untilJob(job.id)).status, "SUCCEEDED");
  await putHooks(agent, [aHook("true")]);
  await untilStatus(agent, await begin(agent, "stop"), "READY");
});

test("nor is one whose lifecycle was taken back while its last hook runs", async (t) => {
  const { agent, begun } = await anAgent(t);
  await agent.call("cancelLifecycle", begun);
  await assert.rejects(agent.call("configure", another), refusal);
  letGo(agent);

  await until(() => agent.call("configure", another).catch(() => undefined));
  assert.deepEqual(listLeft(agent), []);
});
