import assert from "node:assert/strict";
import { test } from "node:test";
import { rawUpstream } from "../../sidecar/raw.ts";
import { type Answer, aBalancer, aProbe, servers } from "./bed.ts";

/** What plans make of requests that are under way at a replica. */

const silent: Answer = (req) => void req.resume();

/** A balancer of two replicas of which the first never answers; the first request goes there. */
async function withOneSilent(t: Parameters<typeof servers>[0]) {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  one.answer = silent;
  const bed = await aBalancer(t);
  await bed.plan([one, two]);
  await bed.ready(1, 2);
  return { bed, one, two };
}

test("what is safe goes to another replica at once when its own is gone", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  const answer = bed.get("/safe");
  await one.until(1);

  await bed.plan([two]);

  assert.match(await answer, /^HTTP\/1\.1 200 [\s\S]*2$/);
  assert.deepEqual(two.asked, ["/safe"]);
  assert.equal(bed.balancer.report().open, 0);
});

test("it goes there too from a connection that was used before", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  one.answer = (_, res) => void res.end("first");
  const wire = bed.dial();
  const request = (path: string) => wire.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  request("/a");
  assert.match(await wire.answer(), /first$/);
  await bed.plan([one, { ...two, role: "standby" }]);
  one.answer = silent;
  request("/b");
  await one.until(2);

  await bed.plan([two]);

  assert.match(await wire.answer(), /2$/);
  assert.deepEqual(one.asked, ["/a", "/b"], "it is not sent to the one that is gone again");
});

test("what is not safe is answered 502 at once when its replica is gone", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  const wire = bed.dial();
  wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
  await one.until(1);

  await bed.plan([two]);

  assert.match(await wire.answer(), /^HTTP\/1\.1 502 [\s\S]*\{"error":"Bad Gateway"\}$/);
  assert.deepEqual(two.asked, []);
  await bed.report(({ open }) => open === 0);
});

test("an answer that has begun is cut when its replica is gone, and a tunnel ends", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  one.answer = (req, res) => {
    if (req.headers.upgrade === undefined) return void res.write("begun");
    res.writeHead(101, { connection: "upgrade", upgrade: "websocket" }).flushHeaders();
  };
  await bed.plan([one]);
  const [stream, tunnel] = [bed.dial(), bed.dial()];
  stream.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await stream.until(() => stream.text.includes("begun"));
  tunnel.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n");
  await tunnel.until(() => tunnel.text.includes("101"));

  await bed.plan([two]);

  await stream.end();
  assert.equal(stream.ended, "reset");
  await tunnel.end();
  await bed.report(({ open }) => open === 0);
});

test("what is safe waits where no other replica is ready", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  const hold = { requests: 9, ms: 60_000 };
  await bed.plan([one], { hold });
  const answer = bed.get();
  await one.until(1);

  await bed.plan([], { hold });
  await bed.report(({ held }) => held === 1);
  await bed.plan([two], { hold });

  assert.match(await answer, /^HTTP\/1\.1 200 [\s\S]*2$/);
});

test("what a replica that is not ready has under way is finished while plans name it", async (t) => {
  const { bed, one, two } = await withOneSilent(t);
  let finish = () => {};
  one.answer = (_, res) => {
    finish = () => res.end("finished");
  };
  const answer = bed.get();
  await one.until(1);
  one.status = 503;
  await bed.ready(2);

  await bed.plan([{ ...one, role: "draining" }, two]);
  finish();

  assert.match(await answer, /finished$/);
});

test("a replica at another address stays what it is, and is asked and reached there", async (t) => {
  const [one, other] = await servers(t, 2);
  assert.ok(one && other);
  let finish = () => {};
  one.answer = (_, res) => {
    finish = () => res.end("from before");
  };
  const bed = await aBalancer(t);
  const probes = { 1: aProbe({ intervalMs: 3_600_000, failureThreshold: 9 }) };
  await bed.plan([one], { probes });
  await bed.ready(1);
  const [before] = bed.balancer.report().replicas;
  const answer = bed.get();
  await one.until(1);

  await bed.plan([{ id: 1, port: other.port }], { probes });

  assert.deepEqual(bed.balancer.report().replicas, [{ ...before, open: 1 }]);
  assert.match(await bed.get("/new"), /2$/);
  assert.deepEqual(other.asked, ["/new"]);
  await bed.plan([{ id: 1, port: other.port, role: "draining" }], { probes });
  assert.equal(bed.balancer.report().replicas[0]?.open, 1, "it is still counted");
  finish();
  assert.match(await answer, /from before$/);
  await bed.report(({ replicas }) => replicas[0]?.open === 0);
});

test("a replica is asked at once where it is reached anew, whatever the other place does", async (t) => {
  const silentOne = await rawUpstream(t);
  const [one] = await servers(t, 1);
  assert.ok(one);
  silentOne.answer = () => {};
  const bed = await aBalancer(t);
  const probes = { 1: aProbe({ timeoutMs: 3_600_000, intervalMs: 3_600_000 }) };
  await bed.plan([{ id: 1, port: silentOne.port }], { probes });
  await silentOne.connection(1);

  await bed.plan([one], { probes });

  await bed.ready(1);
  const [{ problem } = {}] = bed.balancer.report().replicas;
  assert.equal(problem, null);
});
