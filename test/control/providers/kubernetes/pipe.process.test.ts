import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { pipeCommand } from "../../../../control/providers/kubernetes/bring.ts";

/** What a pod runs to connect control with its agent, and the agent's side of that. */
async function connect(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "pipe-"));
  const socket = join(folder, "agent.sock");
  const server = createServer({ allowHalfOpen: true }).listen(socket);
  await once(server, "listening");
  const child = spawn(process.execPath, ["-e", pipeCommand.at(-1) ?? "", socket]);
  t.after(() => {
    child.kill("SIGKILL");
    server.close();
    rmSync(folder, { recursive: true });
  });
  const [agent] = (await once(server, "connection")) as [Socket];
  return { agent, child };
}

test("the connection with an agent ends when the agent does", { timeout: 20_000 }, async (t) => {
  const { agent, child } = await connect(t);
  const exit = once(child, "exit");
  agent.end("the last word");

  assert.equal(await text(child.stdout), "the last word");
  assert.deepEqual(await exit, [0, null]);
});

test("an agent answers when all was said to it", { timeout: 20_000 }, async (t) => {
  const { agent, child } = await connect(t);
  child.stdin.end("a question");

  assert.equal(await text(agent), "a question");
  agent.end("an answer");
  assert.equal(await text(child.stdout), "an answer");
});
