import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { until } from "../helpers/agent.ts";
import { aSidecar, type Bed, bearer, engines } from "./bed.ts";

const nextTurn = () => new Promise(setImmediate);
const refused = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/** Requests that are answered without an upstream, and what else may follow on their connection. */
const askedOn = {
  "a refusal with a short body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
  "an answer that there is no upstream": `GET / HTTP/1.1\r\nHost: a\r\n${bearer}\r\n`,
} as const;

const soleClient = async (bed: Bed) => {
  while (bed.serving.clients.size === 0) await nextTurn();
  const [client] = bed.serving.clients;
  return client ?? assert.fail();
};

for (const [name, engine] of Object.entries(engines)) {
  for (const [what, request] of Object.entries(askedOn))
    test(`${name}: after ${what}, who does not read is not asked for more`, async (t) => {
      const limits = { stalledMs: 500, idleMs: 500 };
      const bed = await aSidecar(t, engine, { ...limits, choose: () => "noUpstream" });
      const wire = bed.dial();
      const count = 200_000;

      wire.socket.pause();
      wire.send(request.repeat(count));
      await soleClient(bed);
      await until(() => bed.serving.clients.size === 0 || undefined);

      assert.ok(bed.passages.length < count / 2, String(bed.passages.length));
    });

  test(`${name}: who reads late and then asks nothing more is sent away`, {
    timeout: 120_000,
  }, async (t) => {
    const limits = { stalledMs: 3_000, idleMs: 3_000, upstreamMs: 3_600_000 };
    const bed = await aSidecar(t, engine, limits);
    const wire = bed.dial();
    const client = await soleClient(bed);

    wire.socket.pause();
    const isHeldUp = () => client.socket.writableLength > 0;
    const isCut = () => !bed.serving.clients.has(client);
    for (let sent = 100; !isHeldUp(); sent += 100) {
      wire.send(refused.repeat(100));
      while (bed.passages.length < sent && !isHeldUp() && !isCut()) await nextTurn();
      assert.ok(!isCut(), "it was sent away before it was held up");
    }
    wire.socket.resume();

    await wire.gone();
  });

  test(`${name}: a drain waits for no body that nobody wants`, { timeout: 60_000 }, async (t) => {
    const bed = await aSidecar(t, engine);
    const owing = bed.dial();
    owing.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
    await owing.answer();

    const drained = bed.serving.drain(3_600_000);

    assert.equal(await owing.end(), "");
    assert.equal(await drained, 0);
  });
}

test("clients that do not read hold only what the system did not take, in small pieces when they are many", async (t) => {
  const chunk = Buffer.alloc(1_048_576);
  const endless = createServer((socket) => {
    const send = () => {
      while (socket.write(chunk));
    };
    socket.on("error", () => {}).on("drain", send);
    socket.once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      send();
    });
  }).listen(0, "127.0.0.1");
  t.after(() => endless.close());
  await once(endless, "listening");
  const upstreamPort = (endless.address() as AddressInfo).port;
  const bed = await aSidecar(t, engines.splice, { upstreamPort });
  const [count, few, smallBytes] = [100, 64, 16_384];
  const [spareBytes, headBytes] = [16 * 131_072, 4_096];
  const collectGarbage = collector();
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;

  const wires = Array.from({ length: count }, () => bed.dial());
  for (const wire of wires) {
    wire.socket.pause();
    wire.send(`GET / HTTP/1.1\r\nHost: a\r\n${bearer}\r\n`);
  }
  const held = () => [...bed.serving.clients].map(({ socket }) => socket.writableLength);
  await until(() => held().filter((bytes) => bytes > 0).length === count || undefined);

  collectGarbage();
  const grown = process.memoryUsage().arrayBuffers - before;
  const large = held().filter((bytes) => bytes > smallBytes);
  // The paused sockets of the test have read something, too.
  const read = sum(wires.map(({ socket }) => socket.readableLength));
  const needed = sum(held()) + read + spareBytes + count * headBytes;
  assert.ok(grown < needed, `${grown} bytes, of which ${needed} are needed`);
  // What comes next is read into a buffer that was chosen a read ago.
  assert.ok(large.length < few + 24, `${large.length} hold more than a small piece`);
});

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

/** What ends the life of buffers that nothing refers to any more. */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
