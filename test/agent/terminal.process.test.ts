import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { endTree } from "../../common/end-processes.ts";
import { findProcess } from "../../common/process-tree.ts";
import { agentClient, nodeTree, until } from "../helpers/agent.ts";
import { mainOf } from "../helpers/tested.ts";

test("an agent that was started by hand outlives its terminal", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "terminal-"));
  t.after(async () => {
    await endTree(nodeTree(home), 0);
    rmSync(home, { recursive: true, force: true });
  });
  const env = { HOME: home, PATH: process.env["PATH"], OUTRIGGER_NOTICES: "none" };
  const line = `exec '${process.execPath}' '${mainOf("agent")}'`;
  const terminal = spawn("script", ["-qc", line, "/dev/null"], { env, stdio: "ignore" });
  const agent = agentClient(t, join(home, ".outrigger/agent/agent.sock"));
  const { pid } = await until(() => agent.call("health", {}).catch(() => undefined));
  assert.ok(findProcess(pid)?.terminal);

  terminal.kill("SIGKILL");
  await until(() => findProcess(pid)?.terminal === 0 || undefined);

  // It says so in its log, which nobody reads any more.
  await agent.call("setAutostop", { idleMs: null, down: false, waitFor: "jobs" });
  assert.equal((await agent.call("health", {})).pid, pid);
  assert.deepEqual(await agent.call("listLifecycles", {}), [], "nor is it the end of its node");
});
