import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, test } from "node:test";
import { aNode, aSubmission, startAgent } from "../helpers/agent.ts";
import { mainOf } from "../helpers/tested.ts";

const agent = await startAgent({ after });
const job = aSubmission("true");

const bad = [
  ["GET", "/nowhere", "", 404, "NotFoundError", /there is no GET \/nowhere/],
  ["POST", "/health", "", 404, "NotFoundError", /there is no POST \/health/],
  ["POST", "/jobs", "{", 400, "ValueError", /the body is not JSON/],
  ["POST", "/jobs", "[]", 400, "ValueError", /the body: /],
  ["POST", "/jobs", JSON.stringify({ ...job, run: 3 }), 400, "ValueError", /^run: /],
  ["POST", "/jobs", JSON.stringify({ ...job, nodes: 2 }), 400, "ValueError", /asks for 2 nodes/],
  ["GET", "/jobs/one", "", 400, "ValueError", /^id: /],
  ["GET", "/jobs/7", "", 404, "JobNotFoundError", /there is no job 7/],
  ["GET", "/jobs/7/log", "", 404, "JobNotFoundError", /there is no job 7/],
  ["GET", "/jobs/7/log?offset=-1", "", 400, "ValueError", /^offset: /],
  ["PUT", "/jobs/7/parts/0", "{}", 400, "ValueError", /./],
  ["PUT", "/parts/7", '{"wanted":"setup"}', 409, "ConflictError", /head's own rank/],
  ["PUT", "/autostop", '{"idleMs":-1}', 400, "ValueError", /^idleMs: /],
  ["PUT", "/node", "{}", 400, "ValueError", /^clusterId: /],
] as const;

for (const [method, path, body, status, type, message] of bad)
  test(`${method} ${path} with ${body.slice(0, 20) || "nothing"} answers ${status}`, async () => {
    const answer = await agent.request(method, path, body);

    assert.deepEqual([answer.status, answer.json.type], [status, type]);
    assert.match(answer.json.message, message);
  });

test("a body that is too large is refused", async () => {
  const answer = await agent.request("POST", "/jobs", `"${"x".repeat(17 * 2 ** 20)}"`);

  assert.equal(answer.json.type, "TooLargeError");
});

test("a node takes no job before it knows who it is", async (t) => {
  const bare = await startAgent(t, { bare: true });

  assert.equal((await bare.call("health", {})).node, null);
  await assert.rejects(bare.submit("true"), { name: "UnreachableError", message: /PUT \/node/ });
});

test("a node stays who it is while it works, and forgets its jobs when it becomes another", async () => {
  const { id } = await agent.submit("sleep 1000");
  await agent.untilJob(id, "RUNNING");

  await assert.rejects(agent.call("configure", { ...aNode(), clusterId: "c2" }), {
    name: "ConflictError",
    message: /works for cluster demo as rank 0/,
  });
  await agent.call("configure", { ...aNode(), cpus: 8 });
  await agent.call("cancelJob", { id });
  const { node } = await agent.call("configure", { ...aNode(), clusterId: "c2" });
  assert.equal(node?.clusterId, "c2");
  assert.deepEqual(await agent.call("listJobs", {}), []);
});

test("a setting that nobody knows is refused by name", () => {
  const main = mainOf("agent");
  const { status, stderr } = spawnSync(process.execPath, [main], {
    env: { HOME: agent.home, OUTRIGGER_SOKET: "x" },
    encoding: "utf8",
  });

  assert.equal(status, 2);
  assert.match(stderr, /unknown setting OUTRIGGER_SOKET/);
});
