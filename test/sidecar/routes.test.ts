import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import type { Address, Choose, DeadEnd } from "../../sidecar/forward/route.ts";
import type { Refusal } from "../../sidecar/refusals.ts";
import { findPort } from "../../sidecar/wrap.ts";
import { aSidecar, bearer, bodyOf, engines } from "./bed.ts";
import { type RawUpstream, rawUpstream } from "./raw.ts";

const local = (port: number) => ({ host: "127.0.0.1", port });
const refusing = async (): Promise<Address> => local(await findPort());

/** Tries these one after the other, and notes which are under way and how each ended. */
function inOrder(...ways: readonly Address[]) {
  const ends: string[] = [];
  const open = new Set<object>();
  const asked: (readonly DeadEnd[])[] = [];
  const choose: Choose = (_, deadEnds) => {
    asked.push(deadEnds);
    const to = ways[deadEnds.length];
    if (to === undefined) return "noUpstream";
    const route = {
      to,
      done(outcome: string) {
        assert.ok(open.delete(route), "a route ended twice");
        ends.push(`${ways.indexOf(to)} ${outcome}`);
      },
    };
    open.add(route);
    return route;
  };
  return { choose, ends, open, asked };
}

const head = (lines = "") => `POST / HTTP/1.1\r\nHost: a\r\n${bearer}${lines}\r\n`;

/** Connects to an upstream the way that somebody else would: by a stream that holds much. */
const connector = ({ port }: RawUpstream) => ({
  async connect(): Promise<Duplex> {
    const socket = connect({ ...local(port), allowHalfOpen: true });
    await once(socket, "connect");
    const line = new Duplex({
      highWaterMark: 1_000_000,
      read: () => void socket.resume(),
      write: (piece, _, done) => void setImmediate(() => socket.write(piece, done)),
      final: (done) => void socket.end(done),
      destroy(error, done) {
        socket.destroy();
        done(error);
      },
    });
    socket.on("data", (piece) => line.push(piece) || socket.pause());
    socket.on("end", () => line.push(null));
    return line;
  },
});

const failing = { connect: () => Promise.reject(new Error("there is no such machine")) };

const bodies: Record<string, (send: (...pieces: (string | Buffer)[]) => void) => number> = {
  "no body": (send) => {
    send(head());
    return 0;
  },
  "a body with its head": (send) => {
    send(head("Content-Length: 3\r\n"), "abc");
    return 3;
  },
  "a long body": (send) => {
    send(
      Buffer.concat([Buffer.from(head("Content-Length: 3000000\r\n")), Buffer.alloc(3_000_000)]),
    );
    return 3_000_000;
  },
};

for (const [what, send] of Object.entries(bodies))
  for (const [how, first] of Object.entries({ refuses: refusing, fails: async () => failing }))
    test(`${what} goes whole to another upstream when the first ${how}`, async (t) => {
      const other = await rawUpstream(t);
      const ways = inOrder(await first(), local(other.port));
      const bed = await aSidecar(t, engines.splice, { choose: ways.choose });
      const wire = bed.dial();

      for (let nth = 0; nth < 2; nth++) {
        const length = send((...pieces) => wire.send(...pieces));

        assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
        assert.equal(bodyOf(other.requests[nth] ?? "").length, length);
        assert.equal(bed.passages[nth]?.bytesIn, length);
      }
      assert.equal(other.requests.length, 2);
      assert.deepEqual(ways.ends, [
        "0 upstreamRefused",
        "1 answered",
        "0 upstreamRefused",
        "1 answered",
      ]);
      assert.deepEqual(
        ways.asked.map(({ length }) => length),
        [0, 1, 0, 1],
      );
    });

test("a body whose rest comes while another upstream is tried arrives whole", async (t) => {
  const other = await rawUpstream(t);
  const { promise, reject } = Promise.withResolvers<never>();
  const ways = inOrder({ connect: () => promise }, local(other.port));
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose });
  const wire = bed.dial();

  wire.send(head("Content-Length: 200000\r\n"));
  while (ways.open.size === 0) await new Promise(setImmediate);
  wire.send(Buffer.alloc(200_000, "x"));
  while ([...bed.serving.clients][0]?.passage.bytesIn === 0) await new Promise(setImmediate);
  reject(new Error("gone"));

  assert.match(await wire.answer(), /^HTTP\/1\.1 200 /);
  assert.ok(bodyOf(other.requests[0] ?? "") === "x".repeat(200_000));
});

test("when no upstream is left the request is refused, and the connection goes on", async (t) => {
  const ways = inOrder(await refusing(), failing);
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose });
  const wire = bed.dial();

  for (let nth = 0; nth < 2; nth++) {
    wire.send(head("Content-Length: 3\r\n"), "abc");
    assert.match(await wire.answer(), /^HTTP\/1\.1 503 /);
  }

  assert.deepEqual(
    ways.asked[2]?.map(({ why }) => why),
    ["upstreamRefused", "upstreamRefused"],
  );
  assert.deepEqual(
    bed.passages.map(({ outcome }) => outcome),
    ["noUpstream", "noUpstream"],
  );
  assert.equal(ways.open.size, 0);
});

test("a refusal by whoever chooses is answered, and nobody is asked for a wrong key", async (t) => {
  const refusal: Refusal = "noUpstream";
  let asked = 0;
  const choose = () => {
    asked += 1;
    return refusal;
  };
  const bed = await aSidecar(t, engines.splice, { choose });
  const wire = bed.dial();

  wire.send(head(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n", head("Content-Length: 9\r\n"));

  assert.match(await wire.answer(), /^HTTP\/1\.1 503 /);
  assert.match(await wire.answer(), /^HTTP\/1\.1 401 /);
  assert.match(await wire.end(), /^HTTP\/1\.1 503 (.+\r\n)+connection: close\r\n/);
  assert.equal(asked, 2);
});

test("an upstream that takes too long to connect is left for another", async (t) => {
  const other = await rawUpstream(t);
  const late = Promise.withResolvers<Duplex>();
  // On a slow machine the other one may take too long now and then.
  const others = Array<Address>(100).fill(local(other.port));
  const ways = inOrder({ connect: () => late.promise }, ...others);
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose, connectMs: 50 });

  assert.match(await bed.ask("POST / HTTP/1.1"), /^HTTP\/1\.1 200 /);

  assert.deepEqual([ways.ends[0], ways.ends.at(-1)], ["0 upstreamTimeout", "1 answered"]);
  const stream = new PassThrough();
  late.resolve(stream);
  await once(stream, "close");
});

test("what an upstream may have seen goes to no other", async (t) => {
  const [first, other] = [await rawUpstream(t), await rawUpstream(t)];
  first.answer = (wire) => wire.socket.destroy();
  const ways = inOrder(local(first.port), local(other.port));
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose });

  assert.match(await bed.ask("POST / HTTP/1.1"), /^HTTP\/1\.1 502 /);

  assert.equal(other.wires.length, 0);
  assert.deepEqual(ways.ends, ["0 upstreamRefused"]);
});

test("whatever becomes of a request, its route ends once", async (t) => {
  const upstream = await rawUpstream(t);
  const ways = inOrder(local(upstream.port));
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose });
  const ended = async (outcome: string) => {
    while (ways.open.size > 0) await new Promise(setImmediate);
    assert.equal(ways.ends.at(-1), `0 ${outcome}`);
  };

  await bed.ask("GET / HTTP/1.1");
  await ended("answered");
  upstream.answer = (wire) =>
    void wire.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab");
  const cut = bed.dial();
  cut.send(head());
  await cut.end();
  await ended("cut");
  upstream.answer = (wire) => wire.send("HTTP/2 200\r\n\r\n");
  await bed.ask("GET / HTTP/1.1");
  await ended("upstreamInvalid");
  const bad = bed.dial();
  bad.send(head("Transfer-Encoding: chunked\r\n"), "1\r\na\r\n");
  while (ways.open.size === 0) await new Promise(setImmediate);
  bad.send("x");
  await bad.end();
  await ended("badChunk");
  upstream.answer = () => {};
  const gone = bed.dial();
  gone.send(head());
  while (ways.open.size === 0) await new Promise(setImmediate);
  gone.socket.destroy();
  await ended("gone");
  assert.equal(ways.ends.length, 5);
});

test("the route of a client that is too slow ends, too", async (t) => {
  const upstream = await rawUpstream(t);
  const ways = inOrder(local(upstream.port));
  const bed = await aSidecar(t, engines.splice, { choose: ways.choose, stalledMs: 50 });
  const wire = bed.dial();

  wire.send(head("Content-Length: 9\r\n"), "ab");

  assert.match(await wire.end(), /^HTTP\/1\.1 408 /);
  assert.deepEqual(ways.ends, ["0 tooSlow"]);
});

test("upstreams are reached over Unix sockets, and over what somebody else connects", async (t) => {
  const upstream = await rawUpstream(t);
  const body = Buffer.from(Array.from({ length: 500_000 }, (_, nth) => nth + 100_000).join(""));
  upstream.answer = (wire) =>
    wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body);
  const unix = { path: await aUnixSocketTo(t, upstream.port) };

  for (const to of [unix, connector(upstream)]) {
    const ways = inOrder(to);
    const bed = await aSidecar(t, engines.splice, { choose: ways.choose });
    const wire = bed.dial();
    const made = upstream.wires.length;
    for (let nth = 0; nth < 3; nth++) {
      wire.send(head(`Content-Length: ${body.length}\r\n`), body);

      assert.ok(bodyOf(await wire.answer()) === body.toString("latin1"));
      assert.ok(bodyOf(upstream.requests.at(-1) ?? "") === body.toString("latin1"));
    }
    assert.equal(upstream.wires.length, made + 1);
  }
});

/** A Unix socket that leads to a port. */
async function aUnixSocketTo(t: TestContext, port: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "sc-"));
  const path = join(folder, "s");
  const server = createServer((near) => {
    const far = connect(local(port)).on("error", () => near.destroy());
    near
      .on("error", () => far.destroy())
      .pipe(far)
      .pipe(near);
  }).listen(path);
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  await once(server, "listening");
  return path;
}
