import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgent } from "../helpers/agent.ts";

test("what is misspelt in a notice is refused by its name", async (t) => {
  const { request, call } = await startAgent(t);

  const { status, json } = await request("POST", "/preempt", '{"deadline": 5}');

  assert.deepEqual([status, json.type], [400, "ValueError"]);
  assert.match(json.message, /"deadline"/);
  assert.deepEqual(await call("listLifecycles", {}), []);
});
