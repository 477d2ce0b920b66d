import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { bodyOf } from "../../sidecar/bed.ts";
import { type Answer, aBalancer, aProbe, aServer } from "./bed.ts";
import { aPair } from "./certificates.ts";

const https = { 1: aProbe({ scheme: "https" }) };

/** A balancer before a server that speaks TLS. */
async function beforeTls(t: TestContext, answer?: Answer) {
  const one = await aServer(t, 1, aPair());
  if (answer !== undefined) one.answer = answer;
  const bed = await aBalancer(t);
  await bed.plan([one], { probes: https });
  await bed.ready(1);
  return { bed, one };
}

test("requests go within TLS where probes do, several over a connection", async (t) => {
  const sockets = new Set<object>();
  const { bed } = await beforeTls(t, async (req, res) => {
    sockets.add(req.socket);
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece);
    res.end(Buffer.concat(pieces));
  });
  const wire = bed.dial();
  const body = randomBytes(1_000_000);

  for (let nth = 0; nth < 2; nth += 1) {
    wire.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`, body);
    const answer = await wire.answer();
    assert.ok(answer.endsWith(body.toString("latin1")), answer.slice(0, 200));
  }

  assert.equal(sockets.size, 1);
});

test("a WebSocket goes both ways within TLS", async (t) => {
  const { bed, one } = await beforeTls(t);
  one.server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello ");
    socket.on("data", (bytes) => socket.end(`<${bytes}>`));
  });
  const wire = bed.dial();

  wire.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  await wire.until(() => wire.text.endsWith("hello "));
  wire.send("there");

  assert.match(await wire.end(), /<there>$/);
});

test("one that is gone is noticed, and what was under way there ends with it", async (t) => {
  const { bed, one } = await beforeTls(t, () => {});
  const answer = bed.get();
  await one.until(1);

  await bed.plan([], { probes: https });

  assert.match(await answer, /^HTTP\/1\.1 503 /);
  await bed.report(({ open }) => open === 0);
});

test("what waits for a connection to one that is gone goes to another replica", async (t) => {
  const [one, other] = [await aServer(t, 1, aPair()), await aServer(t, 2, aPair())];
  const probes = { 1: aProbe({ scheme: "https", intervalMs: 3_600_000, failureThreshold: 9 }) };
  const bed = await aBalancer(t, { connectMs: 3_600_000 });
  await bed.plan([one, { ...other, role: "standby" }], { probes });
  await bed.ready(1, 2);
  await one.die();
  const mute = createServer().listen(one.port, "127.0.0.1");
  t.after(() => void mute.close());
  const answer = bed.get();
  const [socket] = await once(mute, "connection");
  t.after(() => void socket.destroy());

  await bed.plan([other], { probes });

  assert.equal(bodyOf(await answer), "2");
});

test("who speaks no TLS is not ready, and who no longer listens is out at once", async (t) => {
  const { bed, one } = await beforeTls(t);
  const plain = await aServer(t, 2);
  await bed.plan([one, plain], { probes: https });
  await bed.report(({ replicas }) => replicas[1]?.problem != null);
  await bed.plan([one], { probes: { 1: aProbe({ scheme: "https", intervalMs: 3_600_000 }) } });
  assert.match(bodyOf(await bed.get()), /1/);

  await one.die();
  await bed.get();

  const [seen] = bed.balancer.report().replicas;
  assert.deepEqual([seen?.readiness, seen?.problem], ["not_ready", "refused"]);
});
