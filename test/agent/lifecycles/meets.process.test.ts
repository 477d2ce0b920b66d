import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsOf, startAgent } from "../../helpers/agent.ts";
import {
  aHook,
  begin,
  findFile,
  letGo,
  logOnNode,
  outcomes,
  play,
  processesOf,
  putHooks,
  says,
  soon,
  unspoilt,
  untilFile,
  untilStatus,
  waits,
} from "./steps.ts";

test("a stop that is asked for twice is one; so is a down; both ids answer the first", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits)]);
  const first = await begin(agent, "stop");
  const second = await begin(agent, "stop");
  const same = await begin(agent, "stop", { id: first.id });
  letGo(agent);
  const ready = await untilStatus(agent, first, "READY");

  assert.equal(second.id, first.id);
  assert.equal(same.id, first.id);
  assert.deepEqual(outcomes(ready), ["0 stop SUCCEEDED 0"]);
  await agent.call("cancelLifecycle", first);
  assert.equal((await begin(agent, "stop", { id: first.id })).status, "DONE");
});

test("down during a stop hook: it goes on, stop-only ones are dropped with a line, down ones run", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook(waits, { events: ["stop", "down"] }),
    aHook(says("stop-only"), { events: ["stop"] }),
    aHook(says("both"), { events: ["stop", "down"] }),
    aHook(says("down-only"), { events: ["down"] }),
  ]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  const down = await begin(agent, "down", { because: "down by bob" });
  assert.deepEqual([down.id, down.events, down.status], [begun.id, ["down"], "HOOKS"]);
  letGo(agent);
  const ready = await untilStatus(agent, begun, "READY");

  assert.deepEqual(outcomes(ready), [
    "0 stop SUCCEEDED 0",
    "2 down SUCCEEDED 0",
    "3 down SUCCEEDED 0",
    "1 stop SKIPPED null",
  ]);
  assert.equal(logOnNode(agent, "down"), "both down\ndown-only down\n");
  assert.equal(
    logOnNode(agent, "stop"),
    "ran stop\n[outrigger] hook 2 of 4 (stop) was skipped: it is not for what the stop became (down by bob)\n",
  );
});

test("down after the stop is READY runs the down hooks that are left", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(says("both")), aHook(says("last"), { events: ["down"] })]);
  const { id } = await play(agent, "stop");
  const down = await play(agent, "down");

  assert.equal(down.id, id);
  assert.deepEqual(outcomes(down), ["0 stop SUCCEEDED 0", "1 down SUCCEEDED 0"]);
});

test("a stop during a teardown is refused with the lifecycle's id", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits)]);
  await begin(agent, "down", { because: "down by bob" });

  await assert.rejects(begin(agent, "stop"), {
    name: "ConflictError",
    message: "a teardown is in progress (down by bob); it cannot become a stop",
  });
});

test("a notice during stop hooks: one that is not for it gets TERM, those that list it come next", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook("trap 'echo saw TERM; exit 0' TERM; touch ~/in; while :; do sleep 0.05; done", {
      events: ["stop"],
    }),
    aHook(says("stop-only"), { events: ["stop"] }),
    aHook(says("both"), { events: ["stop", "preemption"] }),
  ]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  const deadlineAt = soon(60_000);
  const notice = await agent.call("preempt", { because: "a notice", deadlineAt });
  const ready = await untilStatus(agent, begun, "READY");

  assert.equal(notice.id, begun.id);
  assert.deepEqual(notice.events, ["preemption", "stop"]);
  assert.equal(notice.deadlineAt, deadlineAt);
  const leftMs = notice.leftMs ?? Number.NaN;
  assert.ok(leftMs > 50_000 && leftMs <= 60_000, `${leftMs} ms are left`);
  assert.deepEqual(outcomes(ready), [
    "0 stop INTERRUPTED null",
    "2 preemption SUCCEEDED 0",
    "1 stop SUCCEEDED 0",
  ]);
  assert.match(
    logOnNode(agent, "stop"),
    /saw TERM\n.*was interrupted after [\d.]+ s: it was ended \(a notice\)\nstop-only stop\n$/s,
  );
});

test("a notice during a hook that lists it: it goes on, and runs no second time", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits, { events: ["down", "preemption"] })]);
  const begun = await begin(agent, "down");
  await untilFile(agent, "in", "down\n");
  await begin(agent, "preemption", { deadlineAt: soon(60_000) });
  letGo(agent);

  const { runs } = await untilStatus(agent, begun, "READY");
  assert.deepEqual(
    runs.map(({ event, status }) => [event, status]),
    [["down", "SUCCEEDED"]],
  );
});

test("a 3600 s hook with a short notice is cut before the deadline, and the rest is skipped", async (t) => {
  const hooks = ["touch ~/in; sleep 987", says("late")];
  const preempt = async () => {
    const agent = await startAgent(t);
    const list = hooks.map((run) => aHook(run, { timeoutSeconds: 3600 }));
    await putHooks(agent, list);
    const deadlineAt = soon(6_000);
    const ready = await untilStatus(agent, await agent.call("preempt", { deadlineAt }), "READY");
    const isInTime = ready.runs.every(({ endedAt }) => (endedAt ?? Infinity) < deadlineAt);
    return { agent, ready, isInTime };
  };
  const { agent, ready, isInTime } = await unspoilt(preempt, (one) => one.isInTime);

  assert.ok(isInTime);
  assert.deepEqual(outcomes(ready), ["0 preemption TIMED_OUT 124", "1 preemption SKIPPED null"]);
  assert.ok((ready.runs[0]?.timeoutSeconds ?? 9) <= 4.5);
  assert.match(
    logOnNode(agent, "preemption"),
    /hook 1 of 2 \(preemption\) timed out after [\d.]+ s \(code 124\): the time until the node goes was over\n\[outrigger\] hook 2 of 2 \(preemption\) was skipped: no time is left until the node goes\n$/,
  );
});

test("down and stop during a preemption come after its hooks", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [
    aHook(waits, { events: ["preemption"] }),
    aHook(says("down-only"), { events: ["down"] }),
    aHook(says("stop-only"), { events: ["stop"] }),
  ]);
  const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
  await untilFile(agent, "in");
  assert.deepEqual((await begin(agent, "stop")).events, ["preemption", "stop"]);
  assert.deepEqual((await begin(agent, "down")).events, ["preemption", "down"]);
  letGo(agent);

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), [
    "0 preemption SUCCEEDED 0",
    "1 down SUCCEEDED 0",
    "2 stop SKIPPED null",
  ]);
});

test("skipping hooks ends the running one, and each of the rest has a line that says who asked", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("touch ~/in; sleep 987"), aHook(says("never")), aHook(says("too"))]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  await begin(agent, "stop", { skipHooks: true, because: "stop --skip-hooks by root" });
  const ready = await untilStatus(agent, begun, "READY");

  assert.deepEqual(outcomes(ready), [
    "0 stop INTERRUPTED null",
    "1 stop SKIPPED null",
    "2 stop SKIPPED null",
  ]);
  const log = logOnNode(agent, "stop");
  for (const line of [
    "hook 1 of 3 (stop) was interrupted",
    "hook 2 of 3 (stop) was skipped: hooks are skipped (stop --skip-hooks by root)\n",
    "hook 3 of 3 (stop) was skipped: hooks are skipped (stop --skip-hooks by root)\n",
  ])
    assert.equal(log.split(line).length, 2, log);
  assert.deepEqual(processesOf(agent), []);
});

test("another list of hooks takes effect with the next lifecycle", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook(says("old"))]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  await putHooks(agent, [aHook(says("new"))], { version: "2" });
  letGo(agent);
  await untilStatus(agent, begun, "READY");
  assert.equal(logOnNode(agent, "stop"), "ran stop\nold stop\n");
  await agent.call("cancelLifecycle", begun);
  await play(agent, "stop");

  assert.equal(logOnNode(agent, "stop"), "new stop\n");
  assert.equal((await agent.call("health", {})).hooksVersion, "2");
});

test("each step of a lifecycle and of its hooks is an event", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("true"), aHook("exit 1")]);
  const { body } = await agent.open("events", {});
  const { id } = await play(agent, "stop");
  await agent.call("confirmLogs", { id });
  await agent.call("cancelLifecycle", { id });
  const seen: string[] = [];
  for await (const { kind, lifecycleId, status } of eventsOf(body)) {
    if (kind === "lifecycle" && lifecycleId === id) seen.push(status);
    if (status === "DONE") break;
  }

  assert.deepEqual(seen, "HOOKS RUNNING SUCCEEDED RUNNING FAILED JOBS READY DONE".split(" "));
  assert.equal(findFile(agent, "in"), undefined);
});
