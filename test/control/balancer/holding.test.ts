import assert from "node:assert/strict";
import { test } from "node:test";
import { aBalancer, aProbe, aServer, servers } from "./bed.ts";

const minute = { requests: 10, ms: 60_000 };
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
const unavailable =
  /^HTTP\/1\.1 503 [\s\S]*Retry-After: 5\r\n[\s\S]*\{"error":"Service Unavailable"\}$/;

test("requests wait while no replica is ready, and go on in their order", async (t) => {
  const one = await aServer(t, 1);
  one.status = 503;
  const bed = await aBalancer(t);
  await bed.plan([one], { hold: minute });
  const wires = [];
  for (const path of ["/a", "/b", "/c"]) {
    const wire = bed.dial();
    wire.send(get(path));
    wires.push(wire);
    await bed.report(({ held }) => held === wires.length);
  }
  assert.equal(bed.balancer.report().open, 3);

  one.status = 200;
  for (const wire of wires) assert.match(await wire.end(), /^HTTP\/1\.1 200 [\s\S]*1\r\n0\r\n|1$/);

  assert.deepEqual(one.asked, ["/a", "/b", "/c"]);
  const { held, open } = bed.balancer.report();
  assert.deepEqual([held, open], [0, 0]);
});

test("a plan with a replica that is ready lets go of those who wait", async (t) => {
  const [one] = await servers(t, 1);
  assert.ok(one);
  const bed = await aBalancer(t);
  await bed.plan([{ id: 1, port: one.port, role: "standby" }], { hold: minute });
  await bed.ready(1);
  const answer = bed.get("/a");
  await bed.report(({ held }) => held === 1);

  await bed.plan([one], { hold: minute });

  assert.match(await answer, /^HTTP\/1\.1 200 /);
});

test("requests that come before the first plan wait for it", async (t) => {
  const one = await aServer(t, 1);
  const bed = await aBalancer(t);
  await bed.entrance.open(null);
  const answer = bed.get();
  await bed.report(({ held, revision }) => held === 1 && revision === null);

  await bed.plan([one], { hold: minute });

  assert.match(await answer, /^HTTP\/1\.1 200 /);
});

test("no more wait than may, and none of them longer than it may", async (t) => {
  const bed = await aBalancer(t);
  await bed.plan([], { hold: { requests: 1, ms: 60_000 } });
  const waiting = bed.dial();
  waiting.send(get("/"));
  await bed.report(({ held }) => held === 1);
  assert.match(await bed.get(), unavailable);

  await bed.plan([], { hold: { requests: 2, ms: 10 } });
  assert.match(await bed.get(), unavailable);

  assert.equal(bed.balancer.report().held, 1, "whoever came under the plan before has its time");
  assert.deepEqual(
    bed.passages.map(({ outcome, way }) => [outcome, way]),
    [
      ["noUpstream", ""],
      ["noUpstream", ""],
    ],
  );
});

/** Without `Retry-After`. */
const noneToCome =
  /^HTTP\/1\.1 503 (?![\s\S]*retry-after)[\s\S]*\{"error":"no replica is ready, and none will be brought up"\}$/i;

test("where no replica will come a request is told so at once", async (t) => {
  const bed = await aBalancer(t);
  await bed.plan([], { hold: { requests: 0, ms: 0 } });

  assert.match(await bed.get(), noneToCome);
});

test("requests that wait are told so once no replica will come any more", async (t) => {
  const bed = await aBalancer(t);
  await bed.plan([], { hold: { requests: 2, ms: 600_000 } });
  const answers = [bed.get("/a"), bed.get("/b")];
  await bed.report(({ held }) => held === 2);

  await bed.plan([], { hold: { requests: 0, ms: 0 } });

  for (const answer of answers) assert.match(await answer, noneToCome);
  const { held, open } = bed.balancer.report();
  assert.deepEqual([held, open], [0, 0]);
});

test("a connection goes on after a request that had to wait in vain", async (t) => {
  const one = await aServer(t, 1);
  const bed = await aBalancer(t);
  await bed.plan([], { hold: { requests: 2, ms: 10 } });
  const wire = bed.dial();

  wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.match(await wire.answer(), unavailable);
  await bed.plan([one], { hold: minute });
  wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

  assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
});

test("a client that leaves while it waits is forgotten", async (t) => {
  const one = await aServer(t, 1);
  const bed = await aBalancer(t);
  await bed.plan([], { hold: minute });
  const wire = bed.dial();
  wire.send(get("/gone"));
  await bed.report(({ held }) => held === 1);

  wire.socket.destroy();
  await bed.report(({ held }) => held === 0);
  await bed.plan([one], { hold: minute });
  assert.match(await bed.get("/later"), /^HTTP\/1\.1 200 /);

  assert.deepEqual(one.asked, ["/later"]);
  assert.equal(bed.passages[0]?.outcome, "gone");
});

test("of a long body little is read while its request waits, and all of it arrives", async (t) => {
  const length = 15_000_000;
  const one = await aServer(t, 1);
  let received = 0;
  one.answer = (req, res) => {
    req.on("data", (piece) => {
      received += piece.length;
    });
    req.once("end", () => res.end(String(received)));
  };
  const bed = await aBalancer(t);
  await bed.plan([], { hold: minute });
  const wire = bed.dial();
  wire.send(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`);
  wire.send(Buffer.alloc(length, "x"));
  await bed.report(({ held }) => held === 1);
  // More than the system holds for a connection does not leave, however long one waits.
  for (let nth = 0; nth < 200; nth += 1) await new Promise(setImmediate);
  assert.ok((bed.asking[0]?.bytesIn ?? length) < 200_000);

  await bed.plan([one], { hold: minute });

  assert.match(await wire.answer(), new RegExp(`${length}$|${length}\r\n0\r\n\r\n$`));
});

test("a body that comes while its request waits is not forgotten", async (t) => {
  const one = await aServer(t, 1);
  one.answer = async (req, res) => {
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece);
    res.end(Buffer.concat(pieces));
  };
  const bed = await aBalancer(t);
  await bed.plan([], { hold: minute });
  const wire = bed.dial();
  wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n");
  await bed.report(({ held }) => held === 1);
  wire.send("01234");
  while ((bed.asking[0]?.bytesIn ?? 0) < 5) await new Promise(setImmediate);

  await bed.plan([one], { hold: minute });
  await bed.report(({ replicas }) => replicas[0]?.open === 1);
  wire.send("56789");

  assert.match(await wire.answer(), /0123456789/);
});

test("a request whose only replica died waits for it to come back", async (t) => {
  const one = await aServer(t, 1);
  const bed = await aBalancer(t);
  const rarely = { 1: aProbe({ intervalMs: 50 }) };
  await bed.plan([one], { hold: minute, probes: rarely });
  await bed.ready(1);
  await one.die();
  const answers = [bed.get("/a"), bed.get("/b")];
  await bed.report(({ held }) => held === 2);

  await one.rise();

  for (const answer of answers) assert.match(await answer, /^HTTP\/1\.1 200 /);
  assert.deepEqual(one.asked.toSorted(), ["/a", "/b"]);
});
