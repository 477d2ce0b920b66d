import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openUnixDoor } from "../../../control/doors/unix.ts";

test("a connection that rests is used again, and a new one made while none does", async (t) => {
  const { door, answers, connections } = await openBed(t);
  const first = await door.request({ method: "GET", path: "/stream" });

  for (const path of ["/one", "/two"]) await textOf(door.request({ method: "GET", path }));
  assert.equal(connections(), 2);

  answers.get("/stream")?.end();
  await first.body.text();
  await textOf(door.request({ method: "GET", path: "/three" }));
  assert.equal(connections(), 2);
});

test("a connection that its agent has ended is made anew", async (t) => {
  const { door, server, connections } = await openBed(t);
  await textOf(door.request({ method: "GET", path: "/one" }));

  server.closeAllConnections();

  assert.equal(await textOf(retried(() => door.request({ method: "GET", path: "/two" }))), "/two");
  assert.equal(connections(), 2);
});

test("what is sent to a door that was closed is refused", async (t) => {
  const { door, connections } = await openBed(t);

  await door.destroy();

  await assert.rejects(door.request({ method: "GET", path: "/one" }), /destroyed/);
  await door.destroy();
  assert.equal(connections(), 0);
});

/** The door to a server that answers with the path, and leaves `/stream` open. */
async function openBed(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "door-"));
  const answers = new Map<string, ServerResponse>();
  let made = 0;
  const server = createServer(({ url = "" }, res) => {
    answers.set(url, res);
    if (url === "/stream") res.write("begun");
    else res.end(url);
  });
  server.on("connection", () => {
    made += 1;
  });
  await once(server.listen(join(folder, "sock")), "listening");
  const door = openUnixDoor(join(folder, "sock"));
  t.after(async () => {
    await door.destroy();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { door, server, answers, connections: () => made };
}

type Answer = Awaited<ReturnType<ReturnType<typeof openUnixDoor>["request"]>>;

const textOf = async (answer: Promise<Answer>): Promise<string> => (await answer).body.text();

/** Once more where the end of the connection had not been noticed. */
const retried = (send: () => Promise<Answer>): Promise<Answer> => send().catch(send);
