import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { findPort } from "../../sidecar/wrap.ts";
import { aSidecar, bodyOf, engines, plain } from "./bed.ts";
import { dial, unchunk } from "./raw.ts";

const statusLine = (text: string): string => text.slice(0, text.indexOf("\r\n"));

/** A port on which as many wait already as the system takes, and nobody meets them. */
async function fullPort(t: TestContext): Promise<number> {
  const script = `const server = require("node:net").createServer();
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => child.kill("SIGKILL"));
  const [line] = await once(child.stdout, "data");
  const port = Number(line);
  child.kill("SIGSTOP");
  await Promise.all([1, 2].map(() => once(dial(t, port).socket, "connect")));
  return port;
}

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: an answer's head arrives before its body is there`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire) => wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    const wire = bed.dial();

    wire.send(`GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`);
    await wire.until(() => wire.text.endsWith("\r\n\r\n"));
    bed.upstream.wires[0]?.send("ok");

    assert.equal(bodyOf(await wire.answer()), "ok");
  });

  test(`${name}: events arrive one by one, as they were sent`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire) =>
      wire.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
      );
    const wire = bed.dial();
    wire.send(`GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`);
    await wire.until(() => wire.text.endsWith("\r\n\r\n"));
    wire.text = "";

    for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
      const chunk = `${event.length.toString(16)}\r\n${event}\r\n`;
      bed.upstream.wires[0]?.send(chunk);
      await wire.until(() => wire.text.length >= chunk.length);
      assert.equal(wire.text, chunk);
      wire.text = "";
    }
  });

  test(`${name}: trailers are kept in both directions`, async (t) => {
    const bed = await aSidecar(t, engine);
    const body = "3\r\nabc\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n";
    bed.upstream.answer = (wire) =>
      wire.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`);

    const answer = await bed.ask("POST / HTTP/1.1", "Transfer-Encoding: chunked\r\n", body);

    const expected = { text: "abc", trailers: "X-T: 1\r\nX-U: 2\r\n\r\n" };
    assert.deepEqual(unchunk(bodyOf(bed.upstream.requests[0] ?? "")), expected);
    assert.deepEqual(unchunk(bodyOf(answer)), expected);
  });

  test(`${name}: answers without a body get none`, async (t) => {
    const bed = await aSidecar(t, engine);
    const cases = [
      ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"],
      ["GET", "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n"],
      ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"],
      ["GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ] as const;

    for (const [method, sent] of cases) {
      bed.upstream.answer = (wire) => wire.send(sent);
      const wire = bed.dial();
      const request = `${method} / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`;
      wire.send(request, request);

      assert.equal(plain(await wire.answer(true)), sent);
      assert.equal(plain(await wire.answer(true)), sent);
      assert.equal(wire.text, "");
    }
  });

  test(`${name}: an early hint arrives before the answer`, async (t) => {
    const bed = await aSidecar(t, engine);
    const hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n";
    bed.upstream.answer = (wire) => wire.send(hint.replace("Link", "Content-Length: 5\r\nLink"));
    const wire = bed.dial();

    wire.send(`GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`);

    assert.equal(await wire.answer(), hint);
    bed.upstream.wires[0]?.send("HTTP/1.1 204 No Content\r\n\r\n");
    assert.equal(plain(await wire.answer()), "HTTP/1.1 204 No Content\r\n\r\n");
  });

  test(`${name}: 100 Continue comes once the key is right, and then the body`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire, request) => {
      const hasBody = request.endsWith("abc");
      if (hasBody) wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    };
    const wire = bed.dial();
    const lines = "Content-Length: 3\r\nExpect: 100-continue\r\n";

    wire.send(`POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n${lines}\r\n`);
    if (name === "splice") {
      const upstream = await bed.upstream.connection(1);
      await upstream.until(() => upstream.text.includes("100-continue"));
      upstream.send("HTTP/1.1 100 Continue\r\n\r\n");
    }

    assert.equal(statusLine(await wire.answer()), "HTTP/1.1 100 Continue");
    wire.send("abc");
    assert.equal(statusLine(await wire.answer()), "HTTP/1.1 200 OK");
  });

  test(`${name}: a body that ends with its connection ends the client's`, async (t) => {
    const bed = await aSidecar(t, engine);
    bed.upstream.answer = (wire) => {
      wire.send("HTTP/1.1 200 OK\r\nX-A: b\r\n\r\nall of it");
      wire.socket.end();
    };

    const answer = await bed.ask("GET / HTTP/1.0");

    assert.equal(bodyOf(answer), "all of it");
    assert.match(answer, /connection: close\r\n/i);
  });

  test(`${name}: an upstream that cannot be reached is answered 502`, async (t) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const upstreamPort = typeof address === "object" ? (address?.port ?? 0) : 0;
    await new Promise((resolve) => server.close(resolve));
    const bed = await aSidecar(t, engine, { upstreamPort });
    const wire = bed.dial();

    for (const method of ["GET", "POST"]) {
      wire.send(`${method} / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`);
      const answer = await wire.answer();

      assert.equal(statusLine(answer), "HTTP/1.1 502 Bad Gateway");
      assert.match(answer, /\r\ncontent-type: application\/json\r\n/);
      assert.equal(bodyOf(answer), '{"error":"Bad Gateway"}');
    }
  });

  test(`${name}: an upstream that says nothing is answered 504`, async (t) => {
    const bed = await aSidecar(t, engine, { upstreamMs: 50 });
    bed.upstream.answer = () => {};

    const answer = await bed.ask("POST / HTTP/1.1", "Content-Length: 2\r\n", "ab");

    assert.equal(statusLine(answer), "HTTP/1.1 504 Gateway Timeout");
    assert.equal(bodyOf(answer), '{"error":"Gateway Timeout"}');
    await bed.upstream.wires[0]?.end();
  });

  test(`${name}: only an upstream that is not connected in time is answered 504`, {
    timeout: 60_000,
  }, async (t) => {
    const full = { host: "127.0.0.1", port: await fullPort(t) };
    const bed = await aSidecar(t, engine, {
      connectMs: 1_000,
      upstreamMs: 3_600_000,
      choose: ({ path }, deadEnds) =>
        deadEnds[0]?.why ?? { to: path === "/full" ? full : open, done() {} },
    });
    const open = { host: "127.0.0.1", port: bed.upstream.port };
    bed.upstream.answer = () => {};
    const slow = bed.ask("POST / HTTP/1.1");
    const upstream = await bed.upstream.connection(1);

    const late = await bed.ask("POST /full HTTP/1.1");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");

    assert.equal(statusLine(late), "HTTP/1.1 504 Gateway Timeout");
    assert.equal(statusLine(await slow), "HTTP/1.1 200 OK");
  });

  test(`${name}: whoever may ask elsewhere gets no answer in place of the upstream's`, async (t) => {
    const away = await aSidecar(t, engine, { breaksOff: true, upstreamPort: await findPort() });
    const dying = await aSidecar(t, engine, { breaksOff: true });
    dying.upstream.answer = (wire) => void wire.socket.destroy();

    for (const [what, bed] of Object.entries({ away, dying }))
      for (const method of ["GET", "POST"]) {
        const wire = bed.dial();
        wire.send(`${method} / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer good-key\r\n\r\n`);

        assert.equal(await wire.end(), "", `${method} ${what}`);
        assert.equal(wire.ended, "reset", `${method} ${what}`);
      }
    assert.match(await dying.ask("BAD", ""), /^HTTP\/1\.1 400 /);
  });

  test(`${name}: an answer that can be read in two ways is answered 502`, async (t) => {
    const bed = await aSidecar(t, engine);
    const heads = [
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
      "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX A: b\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 1000 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 a\x01b\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 a\x7f\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 103 a\x01b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nX-A: b\nX-B: c\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX-A: b\0\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "ok",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n",
    ];

    for (const head of heads) {
      bed.upstream.answer = (wire) => {
        wire.send(head);
        wire.socket.end();
      };
      const answer = await bed.ask("POST / HTTP/1.1");

      assert.match(answer, /^HTTP\/1\.1 502 /, head);
    }
  });
}
