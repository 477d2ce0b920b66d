import assert from "node:assert/strict";
import { test } from "node:test";
import { aSidecar, type Bed, bearer, bodyOf, engines } from "./bed.ts";

const upgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: k\r\n";
const request = (lines: string) => `GET /ws HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
const switching =
  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Accept: s\r\n\r\n";

/** Opens a tunnel; answers both of its ends, nothing read from either. */
async function openTunnel(bed: Bed, early = "") {
  const wire = bed.dial();
  bed.upstream.answer = (upstream) => {
    upstream.isTunnel = true;
    upstream.send(switching);
  };
  wire.send(request(bearer + upgrade), early);
  const answer = await wire.answer();
  const upstream = await bed.upstream.connection(1);
  return { wire, upstream, answer };
}

for (const [name, engine] of Object.entries(engines)) {
  test(`${name}: a WebSocket is opened with the key, and its bytes go both ways`, async (t) => {
    const bed = await aSidecar(t, engine);

    const { wire, upstream, answer } = await openTunnel(bed, "early");

    assert.match(
      bed.upstream.requests[0] ?? "",
      /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/,
    );
    assert.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\nSec-WebSocket-Accept: s\r\n/);
    assert.match(answer, /\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n/);
    wire.send("to\0");
    await upstream.until(() => upstream.text.endsWith("to\0"));
    assert.equal(upstream.text, "earlyto\0");
    upstream.send("GET / HTTP/1.1\r\n\r\n");
    await wire.until(() => wire.text === "GET / HTTP/1.1\r\n\r\n");
  });

  test(`${name}: an end of a tunnel reaches the other side`, async (t) => {
    for (const first of ["wire", "upstream"] as const) {
      const bed = await aSidecar(t, engine);
      const ends = await openTunnel(bed);
      const second = first === "wire" ? "upstream" : "wire";

      ends[first].socket.end("bye");
      await ends[second].gone();
      ends[second].socket.end("and you");
      await ends[first].gone();

      assert.equal(ends[second].ended, "end");
      assert.equal(ends[first].ended, "end");
      assert.match(ends.wire.text + ends.upstream.text, /bye/);
      assert.match(ends.wire.text + ends.upstream.text, /and you/);
    }
  });

  test(`${name}: an end that goes away takes the tunnel with it`, async (t) => {
    for (const [first, second] of [
      ["wire", "upstream"],
      ["upstream", "wire"],
    ] as const) {
      const bed = await aSidecar(t, engine);
      const ends = await openTunnel(bed);

      ends[first].socket.resetAndDestroy();

      await ends[second].end();
    }
  });

  test(`${name}: no WebSocket is opened without the key`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();

    wire.send(request(upgrade));

    assert.match(await wire.answer(), /^HTTP\/1\.1 401 /);
    assert.equal(bed.upstream.wires.length, 0);
  });

  test(`${name}: a WebSocket that the upstream refuses stays a request`, async (t) => {
    const bed = await aSidecar(t, engine);
    const wire = bed.dial();
    bed.upstream.answer = (upstream) =>
      upstream.send(
        "HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
      );

    wire.send(request(bearer + upgrade), request(bearer));

    const answer = await wire.answer();
    assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n/);
    assert.equal(bodyOf(answer), "2\r\nno\r\n0\r\n\r\n");
    assert.match(await wire.answer(), /^HTTP\/1\.1 403 /);
  });

  test(`${name}: only a WebSocket is an upgrade`, async (t) => {
    const bed = await aSidecar(t, engine);
    const others = {
      "HTTP/2": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n",
      "HTTP/2 or a WebSocket": "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n",
      "not named in Connection": "Upgrade: websocket\r\n",
    };

    for (const [what, lines] of Object.entries(others)) {
      await bed.ask("GET / HTTP/1.1", lines);

      const arrived = bed.upstream.requests.at(-1) ?? "";
      assert.doesNotMatch(arrived, /upgrade|h2c|http2/i, what);
    }
    await bed.ask("POST / HTTP/1.1", `${upgrade}Content-Length: 2\r\n`, "ab");
    assert.doesNotMatch(bed.upstream.requests.at(-1) ?? "", /upgrade/i);
  });
}
