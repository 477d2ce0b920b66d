import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { agentOperations } from "../../../contract/agent-api.ts";
import { agentBehind } from "../../../control/doors/agent.ts";
import { openExecDoor } from "../../../control/doors/exec.ts";
import { startAgent } from "../../helpers/agent.ts";
import { testedArgs } from "../../helpers/tested.ts";

/** An agent that is reached by running its `pipe` on a home, and the commands that were run. */
function reachedOn(t: TestContext, home: string) {
  const ended: Promise<unknown>[] = [];
  const door = openExecDoor(() => {
    const child = spawn(process.execPath, [...testedArgs("agent"), "pipe"], {
      env: { PATH: process.env["PATH"], HOME: home },
    });
    ended.push(once(child, "close"));
    return child;
  });
  t.after(async () => {
    await door.destroy();
    await Promise.all(ended);
  });
  return agentBehind(door, "the agent of node 0 of a");
}

test("an agent is reached where only commands can be run: calls, and streams that go on", async (t) => {
  const agent = await startAgent(t);
  const reached = reachedOn(t, agent.home);

  const health = await reached.call(agentOperations.health, {}, { timeoutMs: 60_000 });
  const { id } = await agent.submit("echo hello");
  const log = await reached.open(
    agentOperations.readLog,
    { id, offset: 0, follow: "true" },
    new AbortController().signal,
  );

  assert.equal(health.node?.rank, 0);
  const chunks = await log.body.toArray();
  assert.match(Buffer.concat(chunks).toString(), /hello/);
});

test("where no agent listens the command's own words say so", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "pipe-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const reached = reachedOn(t, folder);

  await assert.rejects(reached.call(agentOperations.health, {}, { timeoutMs: 60_000 }), {
    type: "UnreachableError",
    message: /the agent of node 0 of a does not answer: .*no agent listens at/s,
  });
});
