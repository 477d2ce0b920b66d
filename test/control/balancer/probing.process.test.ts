import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { ask } from "../../../control/balancer/probe.ts";
import { findPort } from "../../../sidecar/wrap.ts";
import { rawUpstream } from "../../sidecar/raw.ts";
import { aBalancer, aProbe, aServer, probePath, servers } from "./bed.ts";
import { aPair } from "./certificates.ts";

const never = new AbortController().signal;
const at = (port: number) => ({ host: "127.0.0.1", port });

/** What a probe makes of an answer of these bytes. */
async function problemOf(t: TestContext, answer: string, more = {}): Promise<string | null> {
  const upstream = await rawUpstream(t);
  upstream.answer = (wire) => {
    wire.send(answer);
    wire.socket.end();
  };
  return ask(aProbe(more), at(upstream.port), never);
}

const statuses: [status: number, expected: [number, number][], problem: string | null][] = [
  [200, [[200, 299]], null],
  [204, [[200, 299]], null],
  [299, [[200, 299]], null],
  [300, [[200, 299]], "300"],
  [302, [[200, 299]], "302"],
  [401, [[200, 299]], "401"],
  [
    401,
    [
      [200, 200],
      [401, 401],
    ],
    null,
  ],
  [503, [[200, 499]], "503"],
];

for (const [status, expectedStatus, problem] of statuses)
  test(`${status} where ${JSON.stringify(expectedStatus)} is good: ${problem ?? "good"}`, async (t) => {
    const answer = `HTTP/1.1 ${status} Very Secret\r\nX: secret\r\nContent-Length: 6\r\n\r\nsecret`;
    assert.equal(await problemOf(t, answer, { expectedStatus }), problem);
  });

test("what is no answer is told in a word, without anything that was said", async (t) => {
  assert.equal(await problemOf(t, "secret secret secret\r\n\r\n"), "invalid");
  assert.equal(await problemOf(t, ""), "reset");
  const other = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: secret\r\n\r\n";
  assert.equal(await problemOf(t, other), "invalid");
  const upstream = await rawUpstream(t);
  upstream.answer = () => {};
  const silent = await ask(aProbe({ timeoutMs: 20 }), at(upstream.port), never);
  assert.equal(silent, "timeout");
  assert.equal(await ask(aProbe(), at(await findPort()), never), "refused");
});

test("method, headers and body go as the plan says; JSON unless a header says otherwise", async (t) => {
  const one = await aServer(t, 1);
  const headers = { Authorization: "Bearer key" };
  await ask(aProbe({ headers }), at(one.port), never);
  await ask(aProbe({ method: "HEAD" }), at(one.port), never);
  await ask(aProbe({ method: "POST", headers, body: '{"a":1}' }), at(one.port), never);
  const typed = { "content-type": "text/plain" };
  await ask(aProbe({ method: "PUT", headers: typed, body: "x" }), at(one.port), never);

  assert.deepEqual(
    one.probes.map(({ method, headers: { authorization, ...other }, body }) => [
      ...[method, authorization, other["content-type"], body, other["content-length"]],
    ]),
    [
      ["GET", "Bearer key", undefined, "", undefined],
      ["HEAD", undefined, undefined, "", undefined],
      ["POST", "Bearer key", "application/json", '{"a":1}', "7"],
      ["PUT", undefined, "text/plain", "x", "1"],
    ],
  );
});

test("each replica is asked by the probe of its version, on its own time", async (t) => {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  const bed = await aBalancer(t);
  const stuck = await rawUpstream(t);
  stuck.answer = () => {};
  const probes = { 1: aProbe(), 2: aProbe({ method: "POST", body: "{}" }) };

  await bed.plan([{ id: 3, port: stuck.port }, one, { ...at(two.port), id: 2, version: 2 }], {
    probes,
  });
  await bed.ready(1, 2);

  assert.deepEqual([one.probes[0]?.method, two.probes[0]?.method], ["GET", "POST"]);
  const { replicas } = await bed.report(() => true);
  assert.equal(replicas.find(({ id }) => id === 3)?.readiness, "unknown");
});

test("a sidecar whose server is still starting is asked again soon, whatever the interval", async (t) => {
  const [one] = await servers(t, 1);
  assert.ok(one);
  const bed = await aBalancer(t);
  one.status = 0;
  await bed.plan([one], { probes: { 1: aProbe({ intervalMs: 3_600_000 }) } });
  await bed.report(({ replicas }) => replicas[0]?.problem === "reset");

  one.status = 200;

  await bed.ready(1);
});

test("a replica that stops to answer well gets nothing more until it does again", async (t) => {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  const bed = await aBalancer(t);
  await bed.plan([one, two]);
  await bed.ready(1, 2);

  one.status = 500;
  await bed.ready(2);
  const { replicas } = await bed.report(() => true);
  assert.equal(replicas[0]?.readiness, "not_ready");
  assert.equal(replicas[0]?.problem, "500");
  assert.equal(typeof replicas[0]?.failingSince, "number");
  for (let nth = 0; nth < 3; nth += 1) await bed.get();
  one.status = 200;
  await bed.ready(1, 2);

  assert.deepEqual([one.asked.length, two.asked.length], [0, 3]);
});

test("what is known of a replica survives another plan", async (t) => {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  const bed = await aBalancer(t);
  // Probes that come too rarely to be what makes it ready again.
  const probes = { 1: aProbe({ intervalMs: 3_600_000 }) };
  await bed.plan([one], { probes });
  await bed.ready(1);
  const [before] = (await bed.report(() => true)).replicas;
  one.status = 500;

  await bed.plan([one, two], { probes, policy: "least_load" });
  const [after] = bed.balancer.report().replicas;

  assert.deepEqual(after, before);
  assert.equal(one.probes.length, 1);
});

test("a standby is asked and gets nothing; a draining one is not even asked, nor one that left", async (t) => {
  const [one, two, three] = await servers(t, 3);
  assert.ok(one && two && three);
  const bed = await aBalancer(t);
  await bed.plan([one, two, three]);
  await bed.ready(1, 2, 3);

  await bed.plan([
    { id: 1, port: one.port, role: "standby" },
    { id: 2, port: two.port, role: "draining" },
  ]);
  const seen = [one.probes.length, two.probes.length, three.probes.length] as const;
  assert.match(await bed.get(), /^HTTP\/1\.1 503 /);
  one.status = 500;
  await bed.report(({ replicas }) => replicas[0]?.readiness === "not_ready");

  assert.ok(one.probes.length > seen[0]);
  // A probe that was under way is as good as none.
  assert.ok(two.probes.length <= seen[1] + 1);
  assert.ok(three.probes.length <= seen[2] + 1);
  assert.deepEqual([...one.asked, ...two.asked, ...three.asked], []);
});

test("a plan that was overtaken changes nothing, and one that makes no sense is refused", async (t) => {
  const [one, two] = await servers(t, 2);
  assert.ok(one && two);
  const bed = await aBalancer(t);
  await bed.plan([one], { revision: 5 });

  await bed.plan([two], { revision: 4 });
  await bed.plan([two], { revision: 5 });
  await assert.rejects(bed.plan([{ ...at(one.port), id: 1, version: 7 }], { revision: 6 }), {
    name: "ValueError",
    message: /version 7/,
  });

  assert.equal(bed.balancer.revision, 5);
  await bed.ready(1);
});

test("a replica behind HTTPS is asked whatever its certificate", async (t) => {
  const { createServer: secure } = process.getBuiltinModule("node:https");
  const server = secure(aPair(), (req, res) =>
    res.writeHead(req.url === probePath ? 200 : 404).end(),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.close().closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;

  assert.equal(await ask(aProbe({ scheme: "https" }), at(port), never), null);
  assert.notEqual(await ask(aProbe(), at(port), never), null);
});
