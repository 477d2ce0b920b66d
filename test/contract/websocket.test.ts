import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { acceptOf, openWebSocket } from "../../contract/websocket.ts";

const head = new Uint8Array();

/** Both ends of a connection on loopback. */
async function aPair(t: TestContext): Promise<[client: Socket, server: Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const [client, [accepted]] = await Promise.all([
    (async () => createConnection({ port, host: "127.0.0.1" }))(),
    once(server, "connection") as Promise<[Socket]>,
  ]);
  t.after(() => {
    for (const one of [client, accepted]) one.destroy();
    server.close();
  });
  return [client, accepted];
}

test("bytes of any size come over whole, both ways, and the end of one side is the end of both", async (t) => {
  const [near, far] = await aPair(t);
  const client = openWebSocket(near, { side: "client", head });
  const server = openWebSocket(far, { side: "server", head });
  const sent = [1, 125, 126, 65_535, 65_536, 900_000].map((size) => Buffer.alloc(size, size % 251));
  const heard = buffer(server);
  const answered = buffer(client);

  server.write("answer");
  for (const bytes of sent) client.write(bytes);
  client.end();

  assert.deepEqual(await heard, Buffer.concat(sent));
  assert.equal((await answered).toString(), "answer");
  if (!far.destroyed) await once(far, "close");
});

test("messages with types carry data behind a byte, and a ping comes back as it is", async (t) => {
  const [near, far] = await aPair(t);
  const client = openWebSocket(near, { side: "client", head });
  const server = openWebSocket(far, { side: "server", head, isTyped: true });

  client.write(Buffer.from([1, 0, 0, 0, 7]));
  assert.deepEqual((await once(client, "data"))[0], Buffer.from([1, 0, 0, 0, 7]));
  client.write(Buffer.from([2, 9, 9]));
  client.write(Buffer.from([0, 65, 66]));
  assert.equal(String((await once(server, "data"))[0]), "AB");
  server.write("CD");
  assert.deepEqual((await once(client, "data"))[0], Buffer.from([0, 67, 68]));
});

/** Bytes that a server takes from no client. */
const hostile: readonly [string, number[]][] = [
  ["a frame without a mask", [0x82, 1, 65]],
  ["a frame that is too large", [0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4]],
  ["a size of 64 bits", [0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]],
];

for (const [what, bytes] of hostile)
  test(`${what} ends the connection`, async (t) => {
    const [near, far] = await aPair(t);
    const server = openWebSocket(far, { side: "server", head });
    near.on("error", () => {});

    near.write(Buffer.from(bytes));

    await assert.rejects(once(server, "data"));
    assert.ok(server.destroyed);
  });

test("a message of frames without end and without content ends the connection", async (t) => {
  const [near, far] = await aPair(t);
  const server = openWebSocket(far, { side: "server", head });
  near.on("error", () => {});
  const empty = Buffer.from([0x00, 0x80, 1, 2, 3, 4]);

  near.write(Buffer.concat(Array<Buffer>(200_000).fill(empty)));

  await assert.rejects(once(server, "data", { signal: AbortSignal.timeout(5_000) }), /too large/);
});

test("the key of a client is answered as the protocol says", () => {
  // The example of RFC 6455 section 1.3.
  assert.equal(acceptOf("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
});
