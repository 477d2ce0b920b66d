import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgent, type TestAgent, until } from "../helpers/agent.ts";
import { aHook, logOnNode, processesOf, putHooks, untilFile } from "./lifecycles/steps.ts";

const lasts = "trap '' TERM; touch ~/up; for ((n = 1; ; n += 1)); do echo $n; sleep 0.05; done";

/** Gives the node a lease for what runs there, and has it run. */
async function runLeased(agent: TestAgent, leaseMs: number) {
  const { node } = await agent.call("health", {});
  await agent.call("renewLease", { clusterId: node?.clusterId ?? "", leaseMs, heard: null });
  const job = await agent.submit(lasts);
  await untilFile(agent, "up");
  return job;
}

const untilNothingRuns = (agent: TestAgent) =>
  until(() => processesOf(agent).length === 0 || undefined);

test("an attempt whose lease is not renewed is ended with its hooks, by the end of the lease", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("echo saved", { events: ["preemption"] })]);
  const began = performance.now();
  const job = await runLeased(agent, 6_000);
  await untilNothingRuns(agent);
  const tookMs = performance.now() - began;

  assert.ok(tookMs > 4_500 && tookMs < 6_500, `ended after ${tookMs} ms`);
  const { status, reason } = await agent.untilJob(job.id);
  assert.deepEqual(
    [status, reason],
    [
      "CANCELLED",
      "the node was taken away (control has not been in touch: the lease of 6 s runs out)",
    ],
  );
  assert.equal(logOnNode(agent, "preemption"), "saved\n");
});

test("an agent that was away when its lease ran out ends the attempt as soon as it is back", async (t) => {
  const agent = await startAgent(t);
  const job = await runLeased(agent, 1_000);
  const [{ pid } = assert.fail("nothing runs")] = processesOf(agent);
  await agent.end("SIGKILL");
  const killed = performance.now();
  await until(() => performance.now() - killed > 1_000 || undefined);
  assert.ok(
    processesOf(agent).some((one) => one.pid === pid),
    "it outlives the agent",
  );
  await agent.start();

  await untilNothingRuns(agent);
  assert.equal((await agent.untilJob(job.id)).status, "CANCELLED");
});
