import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { findPort } from "../../../sidecar/wrap.ts";
import { bodyOf } from "../../sidecar/bed.ts";
import { okAnswer, rawUpstream } from "../../sidecar/raw.ts";
import { aBalancer, aProbe, type Bed, servers } from "./bed.ts";

/** Asked once and then not for the time of a test. */
const once = { 1: aProbe({ intervalMs: 3_600_000 }) };

/** How many requests each replica has now. */
const opens = ({ balancer }: Bed): number[] => balancer.report().replicas.map(({ open }) => open);

test("requests go round the replicas that are ready", async (t) => {
  const [one, two, three] = await servers(t, 3);
  assert.ok(one && two && three);
  two.status = 503;
  const bed = await aBalancer(t);
  await bed.plan([one, two, three]);
  await bed.ready(1, 3);

  const answers = [await bed.get(), await bed.get(), await bed.get(), await bed.get()];

  assert.equal(answers.map(bodyOf).join(""), "1313");
  assert.deepEqual(two.asked, []);
  assert.deepEqual(
    bed.passages.map(({ way }) => way),
    ["1", "3", "1", "3"],
  );
});

test("the fewest requests under way get the next one", async (t) => {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  one.answer = () => {};
  const bed = await aBalancer(t);
  await bed.plan([one, two], { policy: "least_load" });
  await bed.ready(1, 2);
  bed.dial().send("GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n");
  await one.until(1);

  assert.deepEqual(opens(bed), [1, 0]);
  for (let nth = 0; nth < 3; nth += 1) assert.equal(bodyOf(await bed.get()), "2");
});

/** A balancer of replicas of which the first refuses connections, and nobody has noticed yet. */
async function withOneDead(t: TestContext, count: number) {
  const all = await servers(t, count);
  const [dead, ...others] = all;
  assert.ok(dead);
  const bed = await aBalancer(t);
  // Bad answers alone would take long to take it out.
  await bed.plan(all, { probes: { 1: aProbe({ intervalMs: 3_600_000, failureThreshold: 99 }) } });
  await bed.ready(...all.map(({ id }) => id));
  await dead.die();
  return { bed, dead, others };
}

test("a replica that refuses connections is out at once, asked at once, and its request goes elsewhere", async (t) => {
  const { bed, dead, others } = await withOneDead(t, 2);
  const wire = bed.dial();

  wire.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");

  assert.match(await wire.answer(), /^HTTP\/1\.1 200 [\s\S]*2$/);
  assert.deepEqual(others[0]?.asked, ["/a"]);
  const [seen] = bed.balancer.report().replicas;
  assert.equal(seen?.readiness, "not_ready");
  assert.equal(seen?.problem, "refused");
  assert.deepEqual(opens(bed), [0, 0]);
  await dead.rise();
  await bed.ready(1, 2);
});

test("no connection to a replica outlives its time of not being ready", async (t) => {
  const [one] = await servers(t, 1);
  assert.ok(one);
  const sockets: object[] = [];
  one.answer = (req, res) => {
    sockets.push(req.socket);
    res.end("ok");
  };
  const bed = await aBalancer(t);
  await bed.plan([one]);
  await bed.ready(1);
  await bed.get();

  one.status = 500;
  await bed.ready();
  one.status = 200;
  await bed.ready(1);
  await bed.get();

  assert.notEqual(sockets[1], sockets[0]);
});

test("no more than three replicas are tried", async (t) => {
  const all = await servers(t, 4);
  const bed = await aBalancer(t);
  await bed.plan(all, { probes: once });
  await bed.ready(1, 2, 3, 4);
  for (const server of all.slice(0, 3)) await server.die();

  assert.match(await bed.get(), /^HTTP\/1\.1 502 [\s\S]*\{"error":"Bad Gateway"\}$/);
  assert.deepEqual(opens(bed), [0, 0, 0, 0]);
  assert.equal(bodyOf(await bed.get()), "4");
});

/** A balancer before one server that breaks off whatever is asked of it, and another that answers. */
async function withOneBroken(t: TestContext, broken: string) {
  const first = await rawUpstream(t);
  const second = await rawUpstream(t);
  const bed = await aBalancer(t);
  await bed.plan(
    [
      { id: 1, port: first.port },
      { id: 2, port: second.port },
    ],
    { probes: { 1: aProbe({ intervalMs: 3_600_000, failureThreshold: 9 }) } },
  );
  await bed.ready(1, 2);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  first.answer = (wire) => {
    wire.send(broken);
    wire.socket.destroySoon();
  };
  second.answer = (wire) => wire.send(okAnswer);
  const asked = () => [first.requests.length - 1, second.requests.length - 1];
  return { bed, asked };
}

test("what is safe goes to another replica when the first breaks off before its answer", async (t) => {
  const { bed, asked } = await withOneBroken(t, "");

  assert.match(await bed.get(), /^HTTP\/1\.1 200 [\s\S]*ok$/);

  const [, second = 0] = asked();
  assert.equal(second, 1);
  const [seen] = bed.balancer.report().replicas;
  assert.equal(seen?.readiness, "ready", "a connection was made, so something listens there");
});

test("a request that breaks replicas is not sent to a third one", async (t) => {
  const all = await Promise.all([1, 2, 3].map(() => rawUpstream(t)));
  const bed = await aBalancer(t);
  await bed.plan(
    all.map(({ port }, at) => ({ id: at + 1, port })),
    { probes: { 1: aProbe({ intervalMs: 3_600_000, failureThreshold: 9 }) } },
  );
  await bed.ready(1, 2, 3);
  for (const one of all) one.answer = ({ socket }) => void socket.destroySoon();

  assert.match(await bed.get("/poison"), /^HTTP\/1\.1 502 /);

  const asked = all.filter(({ requests }) => requests.some((text) => text.includes(" /poison ")));
  assert.equal(asked.length, 2);
});

test("what is not safe, or has a body, is not sent a second time", async (t) => {
  const { bed, asked } = await withOneBroken(t, "");
  const wire = bed.dial();
  const other = bed.dial();

  wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  assert.match(await wire.answer(), /^HTTP\/1\.1 502 /);
  await bed.get();
  other.send("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
  assert.match(await other.answer(), /^HTTP\/1\.1 502 /);

  assert.equal(asked()[1], 1);
});

test("an answer that has begun is cut, and nothing is sent again", async (t) => {
  const { bed, asked } = await withOneBroken(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab");
  const wire = bed.dial();

  wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");

  assert.match(await wire.end(), /^HTTP\/1\.1 200 [\s\S]*ab$/);
  assert.equal(wire.ended, "reset");
  assert.equal(asked()[1], 0);
  assert.equal(bed.passages[0]?.outcome, "cut");
});

test("a replica that takes no connection in time is not waited for", async (t) => {
  const [one] = await servers(t, 1);
  assert.ok(one);
  const bed = await aBalancer(t, { upstreamMs: 200 });
  await bed.plan([one]);
  await bed.ready(1);
  one.answer = () => {};

  assert.match(await bed.get(), /^HTTP\/1\.1 504 [\s\S]*\{"error":"Gateway Timeout"\}$/);
  assert.deepEqual(opens(bed), [0]);
});

test("a draining replica is told of as soon as nothing is open there", async (t) => {
  const [one] = await servers(t, 1);
  assert.ok(one);
  let finish = () => {};
  one.answer = (_, res) => {
    finish = () => res.end();
  };
  const bed = await aBalancer(t);
  await bed.plan([one]);
  await bed.ready(1);
  const answer = bed.get();
  await one.until(1);
  await bed.plan([{ id: 1, port: one.port, role: "draining" }]);
  const idle = bed.report(({ replicas }) => replicas[0]?.open === 0);

  finish();

  await Promise.all([answer, idle]);
});

test("where nobody may wait, a replica that was never there is not waited for", async (t) => {
  const bed = await aBalancer(t);
  await bed.plan([{ id: 1, port: await findPort() }]);

  assert.match(
    await bed.get(),
    /^HTTP\/1\.1 503 [\s\S]*\{"error":"no replica is ready, and none will be brought up"\}$/,
  );
});
