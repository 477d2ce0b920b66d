import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { socketOptions, streamOver } from "../../contract/websocket.ts";

/** A client on loopback, and the stream of its server. */
async function aPair(
  t: TestContext,
  isTyped = false,
): Promise<[client: WebSocket, server: Duplex]> {
  const server = new WebSocketServer({ ...socketOptions, port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}`, socketOptions);
  const [[accepted]] = await Promise.all([
    once(server, "connection") as Promise<[WebSocket]>,
    once(client, "open"),
  ]);
  t.after(() => {
    for (const one of [client, accepted]) one.terminate();
    server.close();
  });
  // At the end of a test its connection breaks.
  return [client, streamOver(accepted, isTyped).on("error", () => {})];
}

test("bytes of any size come over whole, both ways, and the end of one side is the end of both", async (t) => {
  const [socket, server] = await aPair(t);
  const client = streamOver(socket);
  const sent = [1, 125, 126, 65_535, 65_536, 900_000].map((size) => Buffer.alloc(size, size % 251));
  const heard = buffer(server);
  const answered = buffer(client);

  server.write("answer");
  for (const bytes of sent) client.write(bytes);
  client.end();

  assert.deepEqual(await heard, Buffer.concat(sent));
  assert.equal((await answered).toString(), "answer");
  if (!server.closed) await once(server, "close");
});

test("messages with types carry data behind a byte, and a ping comes back as it is", async (t) => {
  const [client, server] = await aPair(t, true);

  client.send(Buffer.from([1, 0, 0, 0, 7]));
  assert.deepEqual((await once(client, "message"))[0], Buffer.from([1, 0, 0, 0, 7]));
  client.send(Buffer.from([2, 9, 9]));
  client.send(Buffer.from([0, 65, 66]));
  assert.equal(String((await once(server, "data"))[0]), "AB");
  server.write("CD");
  assert.deepEqual((await once(client, "message"))[0], Buffer.from([0, 67, 68]));
  client.ping("still there?");
  assert.equal(String((await once(client, "pong"))[0]), "still there?");
});

test("a message that is too large ends the connection", async (t) => {
  const [client, server] = await aPair(t);

  client.send(Buffer.alloc(socketOptions.maxPayload + 1));

  await assert.rejects(once(server, "data"), /Max payload size exceeded/);
  assert.ok(server.destroyed);
});

test("a message of frames without end ends the connection", async (t) => {
  const [client, server] = await aPair(t);

  for (let frames = 0; frames <= socketOptions.maxFragments; frames += 1)
    client.send("", { fin: false });

  await assert.rejects(once(server, "data"), /Too many message fragments/);
});

test("pings are not answered without end to a client that does not read", async (t) => {
  const [client, server] = await aPair(t, true);
  const ping = Buffer.alloc(64 * 1024, 1);
  client.pause();

  const sending = setInterval(() => client.send(ping, () => {}), 1);
  t.after(() => clearInterval(sending));

  await assert.rejects(once(server, "data"), /does not read its answers/);
});

test("a connection that breaks is an error, not the end", async (t) => {
  const [client, server] = await aPair(t);
  const heard = buffer(server);

  // ws shows its socket to nobody.
  const { _socket: socket } = client as unknown as { _socket: Socket };
  socket.resetAndDestroy();

  await assert.rejects(heard, { name: "UnreachableError", message: "the connection broke" });
});
