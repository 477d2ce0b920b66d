import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:https";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { bodyOf } from "../../sidecar/bed.ts";
import { Wire } from "../../sidecar/raw.ts";
import { type Answer, aBalancer, type Bed, servers } from "./bed.ts";
import { aPair } from "./certificates.ts";

/** A balancer before one server that answers like this. */
async function before(t: TestContext, answer: Answer, tls: { key: string; cert: string } | null) {
  const [one] = await servers(t, 1);
  assert.ok(one);
  one.answer = answer;
  const bed = await aBalancer(t);
  await bed.plan([one], { tls });
  await bed.ready(1);
  return { bed, one };
}

/** A connection to the balancer: of TLS, whose certificate is not checked, or plain. */
function open(t: TestContext, bed: Bed, isSecure: boolean): Wire {
  if (!isSecure) return bed.dial();
  const { port } = bed.entrance.place;
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  t.after(() => void socket.destroy());
  return new Wire(socket);
}

for (const [over, isSecure] of [
  ["HTTP", false],
  ["HTTPS", true],
] as const) {
  const pair = isSecure ? aPair() : null;

  test(`${over}: every method arrives as it is, one after the other on a connection`, async (t) => {
    const { bed } = await before(
      t,
      async (req, res) => {
        let body = "";
        for await (const piece of req) body += piece;
        const { "x-forwarded-proto": proto, authorization } = req.headers;
        res.end([req.method, req.url, proto, authorization, body].join(" "));
      },
      pair,
    );
    const wire = open(t, bed, isSecure);
    const proto = isSecure ? "https" : "http";

    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
      const lines = "Authorization: Bearer k\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
      wire.send(`${method} /p/../q?x=1 HTTP/1.1\r\n${lines}`);
      const answer = await wire.answer();
      assert.ok(answer.includes(`${method} /p/../q?x=1 ${proto} Bearer k body`), answer);
    }
  });

  test(`${over}: an answer comes piece by piece, its head before its body`, async (t) => {
    let more: (text: string) => void = () => {};
    const { bed, one } = await before(
      t,
      (_, res) => {
        res.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
        more = (text) => (text === "" ? res.end() : res.write(text));
      },
      pair,
    );
    const wire = open(t, bed, isSecure);

    wire.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    await wire.until(() => wire.text.includes("\r\n\r\n"));
    await one.until(1);
    for (const token of ["one", "two", "three"]) {
      more(token);
      await wire.until(() => wire.text.includes(token));
    }
    more("");

    await wire.until(() => wire.text.endsWith("0\r\n\r\n"));
  });

  test(`${over}: a WebSocket goes both ways and is counted until it ends`, async (t) => {
    const { bed, one } = await before(t, () => {}, pair);
    one.server.on("upgrade", (_, socket) => {
      socket.write("HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello ");
      socket.on("data", (bytes) => socket.write(`<${bytes}>`));
      socket.on("end", () => socket.end());
    });
    const wire = open(t, bed, isSecure);

    wire.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    await wire.until(() => wire.text.endsWith("hello "));
    wire.send("there");
    await wire.until(() => wire.text.endsWith("<there>"));
    assert.equal(bed.balancer.report().replicas[0]?.open, 1);
    wire.socket.end();

    await bed.report(({ replicas }) => replicas[0]?.open === 0);
    await wire.gone();
  });

  test(`${over}: much goes up and comes back as it was`, async (t) => {
    const { bed } = await before(
      t,
      async (req, res) => {
        const pieces: Buffer[] = [];
        for await (const piece of req) pieces.push(piece);
        res.end(Buffer.concat(pieces));
      },
      pair,
    );
    const wire = open(t, bed, isSecure);
    const much = randomBytes(3_000_000);
    const digestOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

    for (let nth = 0; nth < 2; nth += 1) {
      const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${much.length}\r\n\r\n`;
      wire.send(head, much);
      const answer = await wire.answer();
      assert.equal(digestOf(Buffer.from(bodyOf(answer), "latin1")), digestOf(much));
    }
  });
}

/** What a client that checks certificates is answered, one connection a request. */
function ask(port: number, ca: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  request({ host: "127.0.0.1", port, ca, agent: false }, async (answer) => {
    let text = "";
    for await (const piece of answer) text += piece;
    resolve(text);
  })
    .on("error", reject)
    .end();
  return promise;
}

test("a plan brings another certificate, TLS or none; what is open goes on", async (t) => {
  const [first, second] = [aPair("first"), aPair("second")];
  const { bed, one } = await before(t, (_, res) => void res.end("ok"), first);
  const { port } = bed.entrance.place;
  const wire = open(t, bed, true);
  const asks = async () => {
    wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.match(await wire.answer(), /ok$/);
  };
  await asks();
  assert.equal(await ask(port, first.cert), "ok");

  await bed.plan([one], { tls: second });

  await asks();
  assert.equal(await ask(port, second.cert), "ok");
  await assert.rejects(ask(port, first.cert), /self-signed/);
  await bed.plan([one]);
  assert.equal(bed.entrance.place.port, port);
  assert.match(await bed.get(), /ok$/);
});

test("who does not speak TLS, or leaves amid its handshake, harms nobody", async (t) => {
  const pair = aPair();
  const { bed } = await before(t, (_, res) => void res.end("ok"), pair);
  const plain = bed.dial();
  plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await plain.gone();
  bed.dial().socket.resetAndDestroy();

  assert.equal(await ask(bed.entrance.place.port, pair.cert), "ok");
});
