import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Pool } from "undici";
import { agentOperations } from "../../../contract/agent-api.ts";
import { agentBehind } from "../../../control/doors/agent.ts";

/** An agent whose user answers in its place. */
async function agentThat(t: TestContext, answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const door = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(async () => {
    await door.destroy();
    server.closeAllConnections();
    server.close();
  });
  return agentBehind(door, "the agent of node 0 of a");
}

/** Sends bytes for as long as anybody takes them. */
function endless(status: number): RequestListener {
  return (_, response) => {
    response.writeHead(status);
    const send = () => {
      while (!response.destroyed && response.write(Buffer.alloc(2 ** 20, "a")));
    };
    response.on("drain", send);
    send();
  };
}

test("an answer without an end is given up at its limit", async (t) => {
  const agent = await agentThat(t, endless(200));

  await assert.rejects(agent.call(agentOperations.health, {}, { timeoutMs: 60_000 }), {
    type: "UnreachableError",
    message: "the agent of node 0 of a answers with more than 64 MiB",
  });
});

test("an error without an end is given up at its limit", async (t) => {
  const agent = await agentThat(t, endless(500));

  await assert.rejects(agent.call(agentOperations.health, {}, { timeoutMs: 60_000 }), {
    type: "UnreachableError",
    message: "the agent of node 0 of a answers with more than 1 MiB",
  });
});

test("an answer that is not JSON is told as such", async (t) => {
  const agent = await agentThat(t, (_, response) => response.end("hello"));

  await assert.rejects(agent.call(agentOperations.health, {}), {
    type: "UnreachableError",
    message: "the agent of node 0 of a sent an answer that is not JSON",
  });
});

test("an agent that is not there, or refuses connections, is said not to be running", async (t) => {
  const socketPath = join(tmpdir(), `none-${randomUUID()}.sock`);
  const doors = [
    new Pool("http://agent", { connect: { socketPath } }),
    new Pool("http://127.0.0.1:1"),
  ];
  t.after(() => Promise.all(doors.map((door) => door.destroy())));

  for (const door of doors)
    await assert.rejects(agentBehind(door, "the agent").call(agentOperations.health, {}), {
      type: "UnreachableError",
      message: /^the agent does not answer: it is not running; .* see the log of the agent/,
    });
});
