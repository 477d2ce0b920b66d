import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { operations as rows } from "../../../contract/api.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { buildServer, listen } from "../../../control/http/server.ts";
import { operations } from "../../../control/operations.ts";
import { until } from "../../helpers/agent.ts";
import { testWorld, type WorldOptions } from "../../helpers/world.ts";

const head = (length: number, path = "/status") =>
  `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
  `content-length: ${length}\r\n\r\n`;
const health = "GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";

/** A control plane on a real port; answers how to connect to it. */
async function served(t: TestContext, config: NonNullable<WorldOptions["config"]>) {
  const world = await testWorld(t, { config });
  const server = buildServer(world.ctx, rows, operations);
  const { host, port } = await listen(server, { host: "127.0.0.1", port: 0 });
  const sockets: Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
  const open = (options: { allowHalfOpen?: boolean } = {}) => {
    const socket = connect({ port, host, ...options });
    socket.on("error", () => {});
    sockets.push(socket);
    return socket;
  };
  return { world, open };
}

const firstChunk = async (socket: Socket): Promise<string> =>
  String((await once(socket, "data"))[0]);

test("half a body that makes no progress is ended with 408", async (t) => {
  const { open } = await served(t, { stalledSeconds: 0.1 });
  const socket = open();

  socket.write(`${head(1_000_000)}{"cluster_names": [`);

  assert.match(
    await text(socket),
    /^HTTP\/1.1 408 .*connection: close.*the upload of the body stalled/s,
  );
});

test("half an upload that makes no progress is ended with 408", async (t) => {
  const { open } = await served(t, { stalledSeconds: 0.1 });
  const socket = open();
  const query = `user_hash=u&upload_id=${"0a".repeat(32)}&chunk_index=0&total_chunks=1`;

  socket.write(head(1_000_000, `/upload_v2?${query}`).replace("json", "octet-stream"));
  socket.write("half");

  assert.match(await text(socket), /^HTTP\/1.1 408 /);
});

test("a connection whose body was given up takes no further request", async (t) => {
  const { open } = await served(t, {});
  const socket = open();

  socket.write(
    head(1_000_000, "/ssh_node_pools/keys").replace("application/json", "multipart/form-data"),
  );
  socket.write("x".repeat(200_000));

  assert.match(await firstChunk(socket), /^HTTP\/1.1 400 .*connection: close/s);
});

test("a body that comes slowly but steadily is read to its end", async (t) => {
  const { open } = await served(t, { stalledSeconds: 0.4 });
  const socket = open();
  const body = `{"cluster_names": ["${"x".repeat(1_000)}"]${" ".repeat(12_000)}}`;
  const answered = firstChunk(socket);
  const beganAt = performance.now();

  socket.write(head(body.length));
  for (let at = 0; at < body.length; at += 300) {
    socket.write(body.slice(at, at + 300));
    const pauseUntil = performance.now() + 20;
    await until(() => performance.now() > pauseUntil || undefined);
  }

  assert.match(await answered, /^HTTP\/1.1 200 /);
  assert.ok(performance.now() - beganAt > 600, "was not slower than the deadline");
});

test("a head that does not come is ended with 408, and so is half of one", async (t) => {
  const { open } = await served(t, { headSeconds: 0.2 });
  const [silent, half] = [open(), open()];

  half.write("POST /status HTTP/1.1\r\nhost: ");

  assert.match(await text(silent), /^(HTTP\/1.1 408 |$)/);
  assert.match(await text(half), /^HTTP\/1.1 408 /);
});

test("a long poll is cut by no deadline", async (t) => {
  const { open, world } = await served(t, { stalledSeconds: 0.3, headSeconds: 0.3 });
  const release = world.provider.holds("create");
  const demo = { cluster_name: "demo", task: "run: 'true'" };
  const id = await world.call(clusters.launch, demo);
  const poll = open();
  const answered = firstChunk(poll);

  poll.write(`GET /api/get?request_id=${id} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  const later = performance.now() + 1_000;
  await until(() => performance.now() > later || undefined);
  release();

  assert.match(await answered, /^HTTP\/1.1 200 .*SUCCEEDED/s);
});

test("connections over the cap are answered 503, and taken again once others close", async (t) => {
  const { open } = await served(t, { connectionsAtMost: 3 });
  const taken = [open(), open(), open()];
  for (const socket of taken) {
    socket.write(health);
    assert.match(await firstChunk(socket), /^HTTP\/1.1 200 /);
  }

  assert.match(await text(open()), /^HTTP\/1.1 503 .*connection: close.*too many connections/s);

  taken[0]?.destroy();
  await until(async () => {
    const socket = open();
    socket.write(health);
    return /^HTTP\/1.1 200 /.test(await firstChunk(socket)) || undefined;
  });
});

test("connections of one address have a cap of their own", async (t) => {
  const { open } = await served(t, { connectionsPerAddress: 1 });
  const first = open();
  first.write(health);
  await firstChunk(first);

  assert.match(await text(open()), /^HTTP\/1.1 503 /);
});

test("a connection that is not admitted gives its place to a new one, an admitted one does not", async (t) => {
  const { open } = await served(t, { connectionsPerAddress: 2 });
  const admitted = open();
  admitted.write(health);
  await firstChunk(admitted);
  const silent = open();
  await once(silent, "connect");

  const next = open();
  next.write(health);
  assert.match(await firstChunk(next), /^HTTP\/1.1 200 /);
  assert.equal(await text(silent), "");
  admitted.write(health);
  assert.match(await firstChunk(admitted), /^HTTP\/1.1 200 /);
});

test("large bodies on their way in share a memory, and small ones always pass", async (t) => {
  const { open } = await served(t, { bodyMemoryMegabytes: 4 });
  const [first, second, small] = [open(), open(), open()];
  first.write(`${head(3_000_000)}{`);
  await until(() => first.bytesWritten > 0 || undefined);
  small.write(`${head(2)}{}`);
  assert.match(await firstChunk(small), /^HTTP\/1.1 200 /);

  second.write(`${head(3_000_000)}{`);
  assert.match(await firstChunk(second), /^HTTP\/1.1 503 .*too many large requests/s);
});

const refusedHeads = {
  "a tunnel": "CONNECT elsewhere:1 HTTP/1.1\r\nhost: elsewhere\r\n\r\n",
  "a WebSocket where there is none":
    "GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
};

for (const [what, head] of Object.entries(refusedHeads)) {
  test(`a client that asks for ${what} and resets its connection harms nobody`, async (t) => {
    const { open } = await served(t, {});

    for (let count = 0; count < 20; count += 1) {
      const socket = open();
      socket.write(head);
      await firstChunk(socket);
      socket.resetAndDestroy();
    }

    const other = open();
    other.write(health);
    assert.match(await firstChunk(other), /^HTTP\/1.1 200 /);
  });

  test(`a client that asks for ${what} and never hangs up holds no connection`, async (t) => {
    const { open } = await served(t, { connectionsAtMost: 1 });
    const socket = open({ allowHalfOpen: true });
    socket.write(head);
    await firstChunk(socket);

    await until(async () => {
      const other = open();
      other.write(health);
      return /^HTTP\/1.1 200 /.test(await firstChunk(other)) || undefined;
    });
  });
}
