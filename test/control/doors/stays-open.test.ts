import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createNetServer, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { fail } from "../../../common/errors.ts";
import { agentOperations as api } from "../../../contract/agent-api.ts";
import { agentBehind } from "../../../control/doors/agent.ts";
import { openUnixDoor } from "../../../control/doors/unix.ts";
import { until } from "../../helpers/agent.ts";
import { startFakeAgent } from "../../helpers/fake-agent.ts";
import { aFakeNode } from "../../helpers/fake-node.ts";

const { signal } = new AbortController();

test("events come without HTTP around them, until their reader goes", async (t) => {
  const { socket, agent } = openBed(t);
  const fake = await startFakeAgent(aFakeNode("n1", socket));
  t.after(() => fake.close());

  const { body } = await agent.open(api.events, { after: 0 }, signal);
  fake.preempt("soon");
  const [line] = await once(body.setEncoding("utf8"), "data");

  assert.ok(body instanceof Socket);
  assert.match(line, /^{"seq":1,.*}\n/);
  body.destroy();
  await until(() => fake.node.readers.size === 0 || undefined);
});

test("events of an agent that only knows HTTP come with it", async (t) => {
  const { socket, agent } = openBed(t);
  const server = createServer((_, res) => void res.end("{}\n"));
  await once(server.listen(socket), "listening");
  t.after(() => server.close().closeAllConnections());

  const { body } = await agent.open(api.events, { after: 0 }, signal);

  assert.deepEqual(await textOf(body), "{}\n");
});

test("an agent that breaks the connection is not asked a second time", async (t) => {
  const { socket, agent } = openBed(t);
  let connections = 0;
  const server = createNetServer((connection) => {
    connections += 1;
    connection.destroy();
  });
  await once(server.listen(socket), "listening");
  t.after(() => server.close());

  await assert.rejects(agent.open(api.events, { after: 0 }, signal), { type: "UnreachableError" });

  assert.equal(connections, 1);
});

test("an agent that is not there is told as one", async (t) => {
  const { agent } = openBed(t);

  await assert.rejects(agent.open(api.events, { after: 0 }, signal), {
    type: "UnreachableError",
    message: /^the agent does not answer: it is not running/,
  });
});

test("an agent that refuses what would stay open says why", async (t) => {
  const { socket, agent } = openBed(t);
  const node = aFakeNode("n1", socket);
  node.onCall = () => fail("ConflictError", "not now");
  const fake = await startFakeAgent(node);
  t.after(() => fake.close());

  await assert.rejects(agent.open(api.events, { after: 0 }, signal), { type: "ConflictError" });
});

const textOf = async (body: Readable): Promise<string> => (await body.toArray()).join("");

function openBed(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "door-"));
  const socket = join(folder, "sock");
  const door = openUnixDoor(socket);
  t.after(async () => {
    await door.destroy();
    rmSync(folder, { recursive: true });
  });
  return { socket, agent: agentBehind(door, "the agent") };
}
