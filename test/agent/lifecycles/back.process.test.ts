import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookEvent } from "../../../contract/hooks.ts";
import type { GivenLifecycleOrder } from "../../../contract/lifecycle-shapes.ts";
import { startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import {
  aHook,
  begin,
  findFile,
  letGo,
  logOnNode,
  outcomes,
  putHooks,
  says,
  soon,
  untilFile,
  untilStatus,
  waits,
} from "./steps.ts";

test("taken back, a stop begins no other hook, lets the running one end, and accepts jobs again", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook(says("never"))]);
  const begun = await begin(agent, "stop", { cause: "idle", because: "idle for 5 minutes" });
  await untilFile(agent, "in");
  await assert.rejects(agent.submit("true"), {
    name: "ConflictError",
    message: "jobs are not accepted: the cluster is being stopped (idle for 5 minutes)",
  });
  const cancelled = await agent.call("cancelLifecycle", begun);
  assert.equal(cancelled.status, "CANCELLED");
  assert.notEqual(cancelled.endedAt, null);
  const job = await agent.submit("echo hello");
  assert.equal((await agent.untilJob(job.id)).status, "SUCCEEDED");
  letGo(agent);
  const settled = await until(async () => {
    const lifecycle = await agent.call("getLifecycle", begun);
    return lifecycle.logs[0]?.isOver ? lifecycle : undefined;
  });

  assert.deepEqual(outcomes(settled), ["0 stop SUCCEEDED 0", "1 stop SKIPPED null"]);
  assert.match(
    logOnNode(agent, "stop"),
    /^ran stop\n.* hook 2 of 2 \(stop\) was skipped: it was taken back\n$/,
  );
  assert.equal((await agent.call("health", {})).lifecycle, null);
});

test("a stop taken back after a notice leaves the preemption READY; it does not end with it", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook(says("notice"), { events: ["preemption"] }),
    aHook(waits, { events: ["stop"] }),
    aHook(says("never"), { events: ["stop"] }),
  ]);
  const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
  await begin(agent, "stop");
  await untilFile(agent, "in", "stop\n");
  const back = await agent.call("cancelLifecycle", begun);
  assert.deepEqual([back.events, back.status, back.endedAt], [["preemption"], "HOOKS", null]);
  letGo(agent);
  const ready = await untilStatus(agent, begun, "READY");
  const again = await agent.call("cancelLifecycle", begun);

  assert.deepEqual(outcomes(ready), [
    "0 preemption SUCCEEDED 0",
    "1 stop SUCCEEDED 0",
    "2 stop SKIPPED null",
  ]);
  assert.match(logOnNode(agent, "stop"), /^ran stop\n.* was skipped: it was taken back\n$/);
  assert.equal(again.status, "READY");
  await assert.rejects(agent.submit("true"), { message: /the node is being taken away/ });
});

/** Begins a stop, takes it back while its hook runs, and begins another lifecycle at once. */
async function beginAgain(agent: TestAgent, hook: Hook, ...order: Order) {
  await putHooks(agent, [hook]);
  const first = await begin(agent, "stop");
  await untilFile(agent, "in");
  await agent.call("cancelLifecycle", first);
  return { first, second: await begin(agent, ...order) };
}
type Hook = ReturnType<typeof aHook>;
type Order = [event: HookEvent, more?: Partial<GivenLifecycleOrder>];

test("asked for again while its hook still runs, a stop waits for that before its own begins", async (t) => {
  const agent = await startAgent(t);
  const run =
    "echo b >> ~/order; touch ~/in; until [ -e ~/go ]; do sleep 0.05; done; echo e >> ~/order";
  const { first, second } = await beginAgain(agent, aHook(run), "stop");
  await agent.end("SIGKILL");
  await agent.start();
  assert.deepEqual((await agent.call("getLifecycle", second)).runs, []);
  letGo(agent);
  await untilStatus(agent, second, "READY");

  assert.equal(findFile(agent, "order"), "b\ne\nb\ne\n");
  assert.deepEqual(outcomes(await agent.call("getLifecycle", first)), ["0 stop SUCCEEDED 0"]);
});

test("a notice, or skipping hooks, does not wait for what a stop that was taken back left running", async (t) => {
  const orders: Order[] = [
    ["preemption", { deadlineAt: soon(60_000) }],
    ["stop", { skipHooks: true }],
    ["stop", { deadlineAt: soon(4_000) }],
  ];
  for (const order of orders) {
    const agent = await startAgent(t);
    const hook = aHook("touch ~/in; sleep 987", { events: ["stop"] });
    const { first, second } = await beginAgain(agent, hook, ...order);
    await untilStatus(agent, second, "READY");

    const [cut] = (await agent.call("getLifecycle", first)).runs;
    assert.match(cut?.status ?? "", /INTERRUPTED|TIMED_OUT/);
  }
});
