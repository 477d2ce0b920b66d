import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { findProcess } from "../../common/process-tree.ts";
import { startProcess as startAgent, until } from "../helpers/agent.ts";
import { findAgent, listNodeHomes, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

/** A cluster whose first job runs until its gate opens, and the agent that leads it. */
async function withJob(t: TestContext) {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const gate = join(control.home, "gate");
  const id = await cluster.launch(aTask(`echo in; until [ -e ${gate} ]; do sleep 0.1; done`));
  await cluster.untilJob(id, "RUNNING");
  const [node = ""] = listNodeHomes(control.home);
  const agent = findAgent(node) ?? assert.fail("no agent serves the node");

  /** The job lives on, and the agent takes others. */
  async function assertWell(): Promise<void> {
    const next = await cluster.exec(aTask("echo next"));
    assert.deepEqual(await cluster.follow(next), { code: 0, text: "next\n" });
    assert.equal(await cluster.jobStatus(id), "RUNNING");
    writeFileSync(gate, "");
    assert.deepEqual(await cluster.follow(id), { code: 0, text: "in\n" });
  }
  return { control, node, agent, assertWell };
}

const untilGone = (pid: number) => until(() => findProcess(pid)?.alive !== true || undefined);

test("an agent that hangs is replaced, its jobs live on", { timeout: 300_000 }, async (t) => {
  const { control, agent, assertWell } = await withJob(t);

  process.kill(agent, "SIGSTOP");
  // A control plane that starts looks at once; one that runs when it has heard nothing for 15 s.
  await control.end("SIGTERM");
  await control.start();
  await untilGone(agent);

  await assertWell();
});

test("an agent of another version is replaced, its jobs live on", {
  timeout: 300_000,
}, async (t) => {
  const { control, node, agent, assertWell } = await withJob(t);
  await control.end("SIGTERM");
  process.kill(agent, "SIGTERM");
  await untilGone(agent);
  const socket = join(node, ".outrigger/agent/agent.sock");
  const older = await startAgent(node, { OUTRIGGER_SOCKET: socket, OUTRIGGER_BUILD: "older" });

  const left = once(older, "exit");
  await control.start();
  await left;

  assert.equal(older.exitCode, 0);
  await assertWell();
});
