import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { aSidecar, bearer, engines } from "./bed.ts";
import { okAnswer } from "./raw.ts";

const numRuns = Math.ceil(Number(process.env["SIDECAR_CASES"] ?? 2_000) / 10);

const statusLine = fc.constantFrom(
  ...["200 OK", "204 N", "304 N", "103 E", "100 C", "101 S", "099 X", "999", "401 \xe4\x01"].map(
    (status) => `HTTP/1.1 ${status}`,
  ),
  "HTTP/1.0 200 OK",
);

const field = fc.constantFrom(
  ...["2", "5", "x"].map((length) => `Content-Length: ${length}`),
  ...["chunked", "gzip"].map((coding) => `Transfer-Encoding: ${coding}`),
  ...["close", "upgrade", "x, content-length", ","].map((option) => `Connection: ${option}`),
  ...["websocket", "h2c"].map((name) => `Upgrade: ${name}`),
  ...["\xe4", "a", "b", "\0", "\x7f"].map((value) => `X: ${value}`),
  ...["Trailer: X-T", "Keep-Alive: timeout=1", "Set-Cookie: a", "Expect: 100-continue", "Date: x"],
  ...["__proto__: a", "constructor: a", "1: 2", ": a", "X : a", " folded"],
);

const body = fc.constantFrom(
  ...["", "ok", "zz", okAnswer, "0\r\n\r\n", "fffffffffffffff\r\n", "2\r\nok\r\n0\r\n\r\n"],
  "2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
  "2\r\nok\r\n0\r\nContent-Length: 1\r\n\r\n",
);

/** What an upstream might say: one to three answers, valid, almost valid, or hostile. */
const answers = fc
  .array(fc.tuple(statusLine, fc.array(field, { maxLength: 4 }), body), {
    minLength: 1,
    maxLength: 3,
  })
  .map((all) =>
    all.map(([line, fields, text]) => [line, ...fields, "", text].join("\r\n")).join(""),
  );

/** A request line, and what comes after the key. */
const requests = fc.constantFrom(
  ["GET / HTTP/1.1", "\r\n"],
  ["HEAD / HTTP/1.1", "\r\n"],
  ["GET / HTTP/1.0", "\r\n"],
  ["POST / HTTP/1.1", "Content-Length: 3\r\n\r\nabc"],
  ["POST / HTTP/1.1", "Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"],
  [
    "POST / HTTP/1.1",
    "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n3\r\nabc\r\n0\r\nX: a\r\n\r\n",
  ],
  ["GET / HTTP/1.1", "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"],
);

for (const [name, engine] of Object.entries(engines))
  test(`${name}: whatever an upstream says, its client is answered, and the next one too`, async (t) => {
    const bed = await aSidecar(t, engine);
    const property = fc.asyncProperty(requests, answers, async ([line, rest], said) => {
      bed.upstream.answer = (upstream) => {
        upstream.isTunnel = true;
        upstream.send(said);
        upstream.socket.end();
      };
      const wire = bed.dial();
      wire.send(`${line}\r\nHost: a\r\nConnection: close\r\n${bearer}${rest}`);
      const heard = await wire.end();

      // A reset may take with it what came before.
      if (wire.ended !== "reset") assert.match(heard, /^HTTP\/1\.1 [1-9]\d\d[ \r]/);
    });

    await fc.assert(property, { numRuns });

    bed.upstream.answer = (upstream) => upstream.send(okAnswer);
    assert.match(await bed.ask("GET / HTTP/1.1"), /^HTTP\/1\.1 200 /);
  });
