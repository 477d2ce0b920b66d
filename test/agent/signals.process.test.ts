import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Heard, leaveAtMs, nothingHeard, reactTo } from "../../agent/signals.ts";
import type { HookEvent } from "../../contract/hooks.ts";
import type { Lifecycle } from "../../contract/lifecycle-shapes.ts";
import { startAgent, type TestAgent, until } from "../helpers/agent.ts";

type Step = [signal: Parameters<typeof reactTo>[0], atMs: number, reaction: string];

const stories: Record<string, Step[]> = {
  "the second and every later SIGTERM is ignored": [
    ["SIGTERM", 0, "leave in order"],
    ["SIGTERM", 1, "ignore"],
    ["SIGTERM", 60_000, "ignore"],
  ],
  "three SIGINT in a row leave, skip hooks, and exit": [
    ["SIGINT", 0, "leave in order"],
    ["SIGINT", 5_000, "skip hooks"],
    ["SIGINT", 60_000, "exit"],
  ],
  "a SIGINT long after the first is one more of the same": [
    ["SIGINT", 0, "leave in order"],
    ["SIGINT", 5_001, "ignore"],
    ["SIGINT", 10_002, "ignore"],
    ["SIGINT", 10_003, "skip hooks"],
  ],
  "a SIGINT after a SIGTERM is the first of its kind": [
    ["SIGTERM", 0, "leave in order"],
    ["SIGINT", 1, "ignore"],
    ["SIGINT", 2, "skip hooks"],
    ["SIGTERM", 3, "ignore"],
    ["SIGINT", 4, "exit"],
  ],
  "SIGQUIT skips hooks at any time": [
    ["SIGQUIT", 0, "skip hooks"],
    ["SIGTERM", 1, "ignore"],
    ["SIGQUIT", 2, "skip hooks"],
  ],
  "SIGHUP means nothing": [
    ["SIGHUP", 0, "ignore"],
    ["SIGTERM", 1, "leave in order"],
  ],
};

for (const [title, steps] of Object.entries(stories))
  test(title, () => {
    let heard: Heard = nothingHeard;
    for (const [signal, atMs, reaction] of steps) {
      const [reacted, after] = reactTo(signal, heard, 1_000_000 + atMs);
      assert.equal(reacted, reaction, `${signal} at ${atMs}`);
      heard = after;
    }
  });

test("an agent leaves when the logs were fetched or nobody comes for them, or just before it would be killed", () => {
  const deadline = { at: 0, monotonicMs: 90_000, budgetMs: 30_000 };
  const logs = [{ event: "preemption", sizeBytes: 5 }];
  const row = { status: "HOOKS", endedAt: null, deadline, logs, areLogsConfirmed: false } as never;
  const at = (more: object, logsUntilMs = 70_000) =>
    leaveAtMs(Object.assign({}, row, more), logsUntilMs);

  assert.equal(at({}), 89_500);
  assert.equal(at({ areLogsConfirmed: true }), 89_500);
  assert.equal(at({ status: "READY" }), 70_000);
  assert.equal(at({ status: "READY" }, 95_000), 89_500);
  assert.equal(at({ status: "READY" }, 0), 0);
  assert.equal(at({ status: "READY", logs: [] }), 0);
  assert.equal(at({ status: "READY", areLogsConfirmed: true }), 0);
  assert.equal(at({ status: "CANCELLED", endedAt: 5 }), 0);
  assert.equal(at({ deadline: null }), undefined);
  assert.equal(leaveAtMs(undefined, 70_000), 0);
});

const isEnd = { OUTRIGGER_ON_TERM: "preemption", OUTRIGGER_GRACE_SECONDS: "20" };
const waits = "touch ~/started-$HOOK_EVENT; until [ -e ~/go ]; do sleep 0.05; done";
const tellsOfTerm = "trap 'touch ~/job-told; exit' TERM; touch ~/job; while :; do sleep 0.05; done";

/** An agent with hooks, and a job that tells when it gets TERM. */
async function anAgent(
  t: TestContext,
  env: Record<string, string>,
  ...hooks: [string, HookEvent][]
) {
  const agent = await startAgent(t, { env });
  const list = hooks.map(([run, event]) => ({ run, events: [event], timeoutSeconds: 3_600 }));
  await agent.call("putHooks", { version: "1", hooks: list });
  await agent.submit(tellsOfTerm);
  await untilFile(agent, "job");
  return agent;
}

const untilFile = (agent: TestAgent, name: string) =>
  until(() => existsSync(join(agent.home, name)) || undefined);
const isThere = (agent: TestAgent, name: string) => existsSync(join(agent.home, name));
const untilReady = (agent: TestAgent): Promise<Lifecycle> =>
  until(async () => {
    const [latest] = await agent.call("listLifecycles", {});
    return latest?.status === "READY" ? latest : undefined;
  });
const outcomes = ({ runs }: Lifecycle) => runs.map(({ event, status }) => [event, status]);

test("a SIGTERM that ends the node runs its hooks, ends its jobs, and waits for the logs", async (t) => {
  const agent = await anAgent(t, isEnd, [waits, "preemption"], ["touch ~/second", "preemption"]);
  const before = Date.now();
  const exit = agent.end("SIGTERM");
  await untilFile(agent, "started-preemption");
  assert.equal(isThere(agent, "job-told"), false);
  await assert.rejects(agent.submit("true"), { name: "ConflictError" });
  process.kill(agent.pid, "SIGTERM");
  process.kill(agent.pid, "SIGHUP");
  writeFileSync(join(agent.home, "go"), "");
  const ready = await untilReady(agent);

  assert.deepEqual(ready.events, ["preemption"]);
  assert.deepEqual([ready.cause, ready.because], ["provider", "SIGTERM to the agent"]);
  const toldAt = (ready.deadlineAt ?? 0) - 20_000;
  assert.ok(before <= toldAt && toldAt <= Date.now(), `${before}, ${toldAt}`);
  assert.deepEqual(outcomes(ready), [
    ["preemption", "SUCCEEDED"],
    ["preemption", "SUCCEEDED"],
  ]);
  assert.ok(isThere(agent, "job-told") && isThere(agent, "second"));
  await agent.call("confirmLogs", ready);
  assert.equal(await exit, 0);
});

test("an agent whose logs nobody fetches leaves just before it would be killed", async (t) => {
  const env = { ...isEnd, OUTRIGGER_GRACE_SECONDS: "2" };
  const agent = await anAgent(t, env, ["true", "preemption"]);
  const since = performance.now();
  assert.equal(await agent.end("SIGTERM"), 0);

  const tookMs = performance.now() - since;
  assert.ok(tookMs > 1_400 && tookMs < 60_000, `it took ${tookMs} ms`);
});

test("a SIGTERM after our own stop is no preemption: it only sets a deadline", async (t) => {
  const agent = await anAgent(t, isEnd, [waits, "stop"], ["touch ~/wrong", "preemption"]);
  const order = { id: "ours", event: "stop", cause: "user", because: "stop by ann" } as const;
  await agent.call("beginLifecycle", order);
  await untilFile(agent, "started-stop");
  const exit = agent.end("SIGTERM");
  await until(async () => (await agent.call("getLifecycle", order)).deadlineAt ?? undefined);
  writeFileSync(join(agent.home, "go"), "");
  const ready = await untilReady(agent);

  assert.deepEqual(ready.events, ["stop"]);
  assert.equal(ready.because, "stop by ann");
  assert.equal(isThere(agent, "wrong"), false);
  await agent.call("confirmLogs", ready);
  assert.equal(await exit, 0);
});

test("a second SIGINT skips the hooks, and the agent leaves once its jobs have ended", async (t) => {
  const agent = await anAgent(t, isEnd, [waits, "preemption"], ["touch ~/wrong", "preemption"]);
  const exit = agent.end("SIGINT");
  await untilFile(agent, "started-preemption");
  process.kill(agent.pid, "SIGINT");

  assert.equal(await exit, 0);
  assert.ok(isThere(agent, "job-told"));
  await agent.start();
  const [left] = await agent.call("listLifecycles", {});
  assert.deepEqual(left && outcomes(left), [
    ["preemption", "INTERRUPTED"],
    ["preemption", "SKIPPED"],
  ]);
  assert.match(left?.runs[1]?.reason ?? "", /SIGINT/);
});

test("a third SIGINT makes the agent leave at once, whatever still runs", async (t) => {
  const stubborn = `trap '' TERM; ${waits}`;
  const agent = await anAgent(t, isEnd, [stubborn, "preemption"]);
  const exit = agent.end("SIGINT");
  await untilFile(agent, "started-preemption");
  process.kill(agent.pid, "SIGINT");
  await until(async () => {
    const [{ runs: [run] = [] } = {}] = await agent.call("listLifecycles", {});
    return run?.status === "RUNNING" || undefined;
  });
  process.kill(agent.pid, "SIGINT");

  assert.equal(await exit, 130);
});

test("SIGQUIT skips the hooks and ends the jobs", async (t) => {
  const agent = await anAgent(t, isEnd, ["touch ~/wrong", "preemption"]);

  assert.equal(await agent.end("SIGQUIT"), 0);
  assert.ok(isThere(agent, "job-told"));
  assert.equal(isThere(agent, "wrong"), false);
});

test("an agent that is only to leave touches neither hooks nor jobs", async (t) => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGQUIT"] as const) {
    const agent = await anAgent(t, {}, ["touch ~/wrong", "preemption"]);
    assert.equal(await agent.end(signal), 0);
    await agent.start();

    assert.deepEqual(await agent.call("listLifecycles", {}), []);
    assert.equal((await agent.call("getJob", { id: 1 })).status, "RUNNING");
    assert.equal(isThere(agent, "job-told"), false);
  }
});

/** A systemctl that finds the machine in a state, first in the PATH of a service's agent. */
function aService(t: TestContext, state: string): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), "systemctl-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, "systemctl"),
    `#!/bin/sh\necho "$*" > ${folder}/asked; echo ${state}; exit 1\n`,
  );
  chmodSync(join(folder, "systemctl"), 0o700);
  return {
    PATH: `${folder}${delimiter}${process.env["PATH"]}`,
    OUTRIGGER_ON_TERM: "auto",
    INVOCATION_ID: "1",
    NOTIFY_SOCKET: join(folder, "nobody"),
    folder,
  };
}

test("a service's agent that is stopped leaves its jobs alone while the machine stays on", async (t) => {
  for (const state of ["running", "degraded", "offline"]) {
    const { folder = "", ...env } = aService(t, state);
    const agent = await anAgent(t, env, ["touch ~/wrong", "preemption"]);
    assert.equal(await agent.end("SIGTERM"), 0);

    assert.equal(readFileSync(join(folder, "asked"), "utf8"), "is-system-running\n");
    assert.equal(isThere(agent, "job-told") || isThere(agent, "wrong"), false);
  }
});

test("a service's agent takes the end of the machine for the end of its node", async (t) => {
  const { folder: _, ...env } = aService(t, "stopping");
  const agent = await anAgent(t, env, ["touch ~/right", "preemption"]);
  const exit = agent.end("SIGTERM");
  await agent.call("confirmLogs", await untilReady(agent));

  assert.equal(await exit, 0);
  assert.ok(isThere(agent, "right") && isThere(agent, "job-told"));
});
