import assert from "node:assert/strict";
import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { endTree } from "../../../common/end-processes.ts";
import { readBootId } from "../../../common/process-tree.ts";
import { nodeTree, startAgent, type TestAgent, until } from "../../helpers/agent.ts";
import {
  aHook,
  begin,
  findFile,
  hookLog,
  letGo,
  logOnNode,
  outcomes,
  play,
  processesOf,
  putHooks,
  soon,
  untilFile,
  untilStatus,
} from "./steps.ts";

/** Counts its starts, then waits until it is let go, and ends with 5. */
const waits = "echo began >> ~/began; until [ -e ~/go ]; do sleep 0.05; done; exit 5";
/** As a machine that loses its power: no agent sees its hooks end. */
async function endAll(agent: TestAgent): Promise<void> {
  await agent.end("SIGKILL");
  await endTree(nodeTree(agent.home), 0);
}
const folderOf = (agent: TestAgent, id: string) =>
  join(agent.home, ".outrigger/agent/lifecycles", id, "0");

/** Makes what is on disk look as if another boot had left it. */
function reboot(agent: TestAgent, id: string): void {
  const journal = new DatabaseSync(join(agent.home, ".outrigger/agent/journal.db"));
  journal.exec(`UPDATE lifecycles SET state = replace(state, '${readBootId()}', 'another')`);
  journal.close();
  const claim = join(folderOf(agent, id), "hook.claim");
  rmSync(claim, { force: true });
  symlinkSync("1 1 another", claim);
}

/** Makes what is on disk look as if the first hook had begun so much earlier, or some other instant of it. */
function passTime(agent: TestAgent, ms: number, instant = "startedMs"): void {
  const journal = new DatabaseSync(join(agent.home, ".outrigger/agent/journal.db"));
  const path = `'$.runs[0].${instant}'`;
  journal.exec(
    `UPDATE lifecycles SET state = json_set(state, ${path}, json_extract(state, ${path}) - ${ms})`,
  );
  journal.close();
}

test("a hook outlives a killed agent, is taken up by the next one and runs once", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook("echo next")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "began");
  await agent.end("SIGKILL");
  await agent.start();
  assert.equal((await agent.call("health", {})).lifecycle?.status, "HOOKS");
  letGo(agent);

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), [
    "0 stop FAILED 5",
    "1 stop SUCCEEDED 0",
  ]);
  assert.equal(findFile(agent, "began"), "began\n");
});

test("how a hook ended while no agent ran is not lost; the rest runs", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook("echo next")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "began");
  await agent.end("SIGKILL");
  letGo(agent);
  await until(() => processesOf(agent).length === 0 || undefined);
  await agent.start();

  const { runs } = await untilStatus(agent, begun, "READY");
  assert.deepEqual(
    runs.map(({ exitCode }) => exitCode),
    [5, 0],
  );
  assert.match(
    logOnNode(agent, "stop"),
    /hook 1 of 2 \(stop\) failed .*: it exited with 5\nnext\n$/,
  );
});

test("a hook whose process is gone without an exit code is INTERRUPTED, and not run again", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook("echo next")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "began");
  await endAll(agent);
  await agent.start();

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), [
    "0 stop INTERRUPTED null",
    "1 stop SUCCEEDED 0",
  ]);
  assert.equal(findFile(agent, "began"), "began\n");
  assert.match(logOnNode(agent, "stop"), /hook 1 of 2 \(stop\) was interrupted/);
});

test("a hook that is being ended when the agent dies is TIMED_OUT once it is back", async (t) => {
  const agent = await startAgent(t);
  const run = "trap 'touch ~/asked' TERM; touch ~/in; while :; do sleep 0.05; done";
  await putHooks(agent, [aHook(run)]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  await agent.end("SIGKILL");
  passTime(agent, 61_000);
  await agent.start();
  await untilFile(agent, "asked");
  await agent.end("SIGKILL");
  passTime(agent, 60_000, "ending.killMs");
  await agent.start();

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), ["0 stop TIMED_OUT 124"]);
  assert.deepEqual(processesOf(agent), []);
});

test("time goes on while no agent runs: a hook that is over its time is ended at once", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("touch ~/in; sleep 987", { timeoutSeconds: 3_600 })]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "in");
  await agent.end("SIGKILL");
  passTime(agent, 3_601_000);
  await agent.start();

  assert.deepEqual(outcomes(await untilStatus(agent, begun, "READY")), ["0 stop TIMED_OUT 124"]);
});

test("a stop goes on after a reboot: what ran is INTERRUPTED, the next entry runs", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook("echo next")]);
  const begun = await begin(agent, "stop");
  await untilFile(agent, "began");
  await endAll(agent);
  reboot(agent, begun.id);
  await agent.start();
  const ready = await untilStatus(agent, begun, "READY");

  assert.deepEqual(outcomes(ready), ["0 stop INTERRUPTED null", "1 stop SUCCEEDED 0"]);
  assert.equal(ready.runs[0]?.reason, "the machine was rebooted");
  assert.equal(findFile(agent, "began"), "began\n");
});

test("a machine that is back was not taken away: its preemption is CANCELLED, with a line a hook", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook(waits), aHook("echo next")]);
  const begun = await begin(agent, "preemption", { deadlineAt: soon(60_000) });
  await untilFile(agent, "began");
  await endAll(agent);
  reboot(agent, begun.id);
  await agent.start();
  const lifecycle = await until(async () => {
    const found = await agent.call("getLifecycle", begun);
    return found.logs[0]?.isOver ? found : undefined;
  });

  assert.equal(lifecycle.status, "CANCELLED");
  assert.deepEqual(outcomes(lifecycle), [
    "0 preemption INTERRUPTED null",
    "1 preemption SKIPPED null",
  ]);
  assert.match(
    logOnNode(agent, "preemption"),
    /interrupted .*: the machine was rebooted\n.*skipped: the machine was rebooted\n$/s,
  );
  assert.equal((await agent.untilJob((await agent.submit("true")).id)).status, "SUCCEEDED");
});

test("a stop that was READY is DONE when the machine is on again, and jobs are taken", async (t) => {
  const agent = await startAgent(t);
  await putHooks(agent, [aHook("true")]);
  const ready = await play(agent, "stop");
  await agent.end("SIGKILL");
  reboot(agent, ready.id);
  await agent.start();

  await untilStatus(agent, ready, "DONE");
  assert.equal((await agent.untilJob((await agent.submit("true")).id)).status, "SUCCEEDED");
});

test("a journal of an agent that knew no lifecycles still opens", async (t) => {
  const agent = await startAgent(t);
  const { id } = await agent.submit("true");
  await agent.untilJob(id);
  await agent.end("SIGTERM");
  const journal = new DatabaseSync(join(agent.home, ".outrigger/agent/journal.db"));
  journal.exec(`DROP TABLE lifecycles; DROP TABLE hook_set;
    ALTER TABLE events DROP COLUMN lifecycle_id`);
  journal.close();
  await agent.start();
  await putHooks(agent, [aHook("echo hello")]);
  const lifecycle = await play(agent, "stop");

  assert.equal(await hookLog(agent, lifecycle, "stop"), "hello\n");
  assert.equal((await agent.call("getJob", { id })).status, "SUCCEEDED");
});
