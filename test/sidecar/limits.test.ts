import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { aSidecar, bearer, bodyOf, engines } from "./bed.ts";

const request = (lines = "") => `POST / HTTP/1.1\r\nHost: a\r\n${bearer}${lines}\r\n`;

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: a head that does not become whole is answered 408`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();
    wire.send(request());
    await wire.answer();

    bed.limits.headMs = 50;
    wire.send("GET / HTTP/1.1\r\nHo");

    const answer = await wire.end();
    assert.match(answer, /^HTTP\/1\.1 408 /);
    assert.equal(bodyOf(answer), '{"error":"Request Timeout"}');
  });

  test(`${name}: who sends nothing, or nothing more, is sent away without a word`, {
    timeout: 30_000,
  }, async (t) => {
    const bed = await aSidecar(t, engine, { idleMs: 50, stalledMs: 50 });
    const [used, refused, owing] = [bed.dial(), bed.dial(), bed.dial()];
    const withoutKey = request().replace(bearer, "");

    used.send(request());
    refused.send(withoutKey);
    owing.send(withoutKey.replace("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\n"));
    assert.match(await used.answer(), /^HTTP\/1\.1 200 /);
    for (const wire of [refused, owing]) assert.match(await wire.answer(), /^HTTP\/1\.1 401 /);

    bed.limits.headMs = 50;
    for (const wire of [used, refused, owing, bed.dial()]) assert.equal(await wire.end(), "");
  });

  test(`${name}: a body that does not go on is answered 408, and its request given up`, async (t) => {
    const bed = await aSidecar(t, engine, { stalledMs: 50 });
    const wire = bed.dial();

    wire.send(request("Content-Length: 10\r\n"), "abc");

    assert.match(await wire.end(), /^HTTP\/1\.1 408 /);
    await (await bed.upstream.connection(1)).end();
  });

  test(`${name}: an answer that does not go on is cut`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire) => wire.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    const wire = bed.dial();
    wire.send(request());
    await wire.until(() => wire.text.endsWith("abc"));

    bed.limits.upstreamMs = 50;
    bed.upstream.wires[0]?.send("d");

    assert.match(await wire.end(), /\r\n\r\nabcd$/);
    assert.equal(wire.ended, "reset");
  });

  test(`${name}: a client that does not read holds its upstream back, and is cut`, async (t) => {
    const bed = await aSidecar(t, engine, { stalledMs: 300 });
    const wire = bed.dial();
    const size = 64_000_000;
    bed.upstream.answer = (upstream) =>
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`, Buffer.alloc(size));

    wire.socket.pause();
    wire.send(request());
    const upstream = await bed.upstream.connection(1);
    await upstream.end();

    assert.ok((bed.passages[0]?.bytesOut ?? size) < size / 4);
    assert.equal(bed.passages[0]?.outcome, "cut");
  });

  test(`${name}: a client that asks on without reading is not asked for`, async (t) => {
    const bed = await aSidecar(t, engine, { stalledMs: 300 });
    const wire = bed.dial();
    const body = Buffer.alloc(30_000);
    bed.upstream.answer = (upstream) =>
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body);

    wire.socket.pause();
    wire.send(request("Content-Length: 0\r\n").repeat(2_000));
    while (bed.serving.clients.size === 0) await new Promise(setImmediate);
    await until(() => bed.serving.clients.size === 0 || undefined);

    assert.ok(bed.upstream.requests.length < 1_000, String(bed.upstream.requests.length));
  });

  test(`${name}: what waits for a slow client stays its own`, async (t) => {
    const bed = await aSidecar(t, engine);
    const [slow, quick] = [bed.dial(), bed.dial()];
    const pieces = 150;
    const piece = "abcdefghij".repeat(7_000);
    const quickBody = "x".repeat(piece.length);
    bed.upstream.answer = (upstream, asked) => {
      const length = asked.includes("X-Slow") ? pieces * piece.length : quickBody.length;
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`);
      if (length === quickBody.length) upstream.send(quickBody);
    };

    slow.socket.pause();
    slow.send(request("X-Slow: 1\r\n"));
    const upstream = await bed.upstream.connection(1);
    while (bed.upstream.requests.length === 0) await new Promise(setImmediate);
    for (let i = 0; i < pieces; i++) {
      upstream.send(piece);
      quick.send(request());
      assert.ok(bodyOf(await quick.answer()) === quickBody);
    }
    slow.socket.resume();

    assert.ok(bodyOf(await slow.answer()) === piece.repeat(pieces));
  });

  test(`${name}: an upstream that does not read holds its client back`, async (t) => {
    const bed = await aSidecar(t, engine, { upstreamMs: 300 });
    const wire = bed.dial();
    const size = 64_000_000;

    wire.send(request(`Content-Length: ${size}\r\n`));
    (await bed.upstream.connection(1)).socket.pause();
    wire.send(Buffer.alloc(size));
    await wire.end();

    assert.ok((bed.passages[0]?.bytesIn ?? size) < size / 4);
    assert.equal(bed.passages[0]?.outcome, "upstreamTimeout");
  });

  test(`${name}: large bodies pass whole, in both directions`, async (t) => {
    const bed = await aSidecar(t, engine);
    const body = Buffer.alloc(3_000_000, "0123456789");
    bed.upstream.answer = (upstream) =>
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body);
    const wire = bed.dial();

    for (let i = 0; i < 2; i++) {
      wire.send(request(`Content-Length: ${body.length}\r\n`), body);

      assert.ok(bodyOf(await wire.answer()) === body.toString("latin1"));
      assert.ok(bodyOf(bed.upstream.requests[i] ?? "") === body.toString("latin1"));
    }
  });

  test(`${name}: one connection more than are taken is answered 503`, async (t) => {
    const bed = await aSidecar(t, engine, { connections: 2 });
    const first = [bed.dial(), bed.dial()];
    for (const wire of first) {
      wire.send(request());
      await wire.answer();
    }

    assert.match(await bed.dial().end(), /^HTTP\/1\.1 503 /);
    first[0]?.socket.destroy();
    while (bed.serving.clients.size > 1) await new Promise(setImmediate);
    assert.match(await bed.ask("GET / HTTP/1.1"), /^HTTP\/1\.1 200 /);
  });

  test(`${name}: clients that are gone before they are told so do no harm`, async (t) => {
    const bed = await aSidecar(t, engine, { connections: 1 });
    const first = bed.dial();
    first.send(request());
    await first.answer();

    const others = Array.from({ length: 50 }, () => bed.dial().socket);
    for (const socket of others) socket.once("connect", () => socket.resetAndDestroy());
    await Promise.all(others.map((socket) => once(socket, "close")));
    // Who comes after them is told after them.
    await bed.dial().end();

    first.send(request());
    assert.match(await first.answer(), /^HTTP\/1\.1 200 /);
  });

  test(`${name}: a drain answers what is under way and takes nothing new`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire) => wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab");
    const [idle, early, late] = [bed.dial(), bed.dial(), bed.dial()];
    early.send(request());
    await early.until(() => early.text.endsWith("ab"));
    bed.upstream.answer = () => {};
    late.send(request());
    const upstream = await bed.upstream.connection(2);

    const drained = bed.serving.drain(60_000);
    await idle.end();
    bed.upstream.wires[0]?.send("cd");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

    assert.match(await early.end(), /\r\n\r\nabcd$/);
    assert.match(await late.end(), /connection: close\r\n(.+\r\n)*\r\nok$/i);
    await assert.rejects(bed.dial().end().then(assert.fail), "refused");
    await drained;
  });

  test(`${name}: a drain with grace answers one more request of a connection at rest`, async (t) => {
    const bed = await aSidecar(t, engine);
    const [kept, silent] = [bed.dial(), bed.dial()];
    kept.send(request());
    await kept.answer();
    while (bed.serving.clients.size < 2) await new Promise(setImmediate);

    const drained = bed.serving.drain(60_000, 60_000);
    // What comes before it stops to listen is accepted.
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    await assert.rejects(bed.dial().end().then(assert.fail), "refused");
    kept.send(request());

    assert.match(await kept.end(), /^HTTP\/1\.1 200 [\s\S]*connection: close\r\n/i);
    silent.socket.destroy();
    assert.equal(await drained, 0);
  });

  test(`${name}: a drain cuts what lasts longer than its deadline`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = () => {};
    const wire = bed.dial();
    wire.send(request());
    const upstream = await bed.upstream.connection(1);

    await bed.serving.drain(20);

    await upstream.end();
    assert.equal(await wire.end(), "");
  });
}
