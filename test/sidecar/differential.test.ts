import assert from "node:assert/strict";
import { createServer, METHODS } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { aKey, aSidecar, type Bed, engines, goodKey } from "./bed.ts";
import { headersOf, type Read, readStream } from "./reading.ts";
import { streams } from "./requests.ts";

/** How many streams are tried on `splice`; a tenth of them on the other engine. */
const cases = Number(process.env["SIDECAR_CASES"] ?? 2_000);
const atOnce = 20;
/** A key for each stream of a batch, so that what arrives can be told apart. */
const keys = Array.from({ length: atOnce }, (_, index) => `${goodKey}-${index + 10}`);

/** A server of `node:http`, and all that it has read. */
async function aReader(t: TestContext): Promise<{ port: number; reads: Read[] }> {
  const reads: Read[] = [];
  const server = createServer((req, res) => {
    let body = "";
    req.setEncoding("latin1").on("data", (piece) => {
      body += piece;
    });
    req.on("end", () => {
      const lines = req.rawHeaders.map((one, index) => one + (index % 2 === 0 ? ": " : "\r\n"));
      const { method = "", url: target = "" } = req;
      reads.push({ method, target, headers: headersOf(lines.join("")), body });
      res.end("ok");
    });
    req.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close().closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, reads };
}

/** Sends a stream and waits for the answers that it must get. */
async function play(bed: Bed, text: string, methods: readonly string[]): Promise<void> {
  const wire = bed.dial();
  wire.send(text);
  for (const method of methods) await wire.answer(method === "HEAD");
  wire.socket.destroy();
}

/** Whether Node.js takes such a request at all. */
const isKnown = ({ method, target }: Read) =>
  METHODS.includes(method) && /^[\x21-\x7e]+$/.test(target);

const hasKey = (key: string) => (read: Read) =>
  read.headers.includes(`authorization: Bearer ${key}`);

for (const [name, engine] of Object.entries(engines))
  test(`${name}: what is passed on is read by node:http as it was meant`, async (t) => {
    const reader = await aReader(t);
    const bed = await aSidecar(t, engine, {
      upstreamPort: reader.port,
      keys: keys.map((key) => aKey(key)),
    });

    // The second engine puts repeated headers together, which changes the order of all.
    const compared = (read: Read): Read =>
      name === "splice" ? read : { ...read, headers: read.headers.toSorted() };

    const batch = fc.asyncProperty(
      fc.array(streams, { minLength: 1, maxLength: atOnce, size: "max" }),
      async (texts) => {
        reader.reads.length = 0;
        const all = texts.map((text, index) => {
          const key = keys[index] ?? "";
          const own = text.replaceAll(goodKey, key);
          return { own, key, ...readStream(own, key) };
        });
        const plays = all.filter(({ passed }) => passed.every(isKnown));

        await Promise.all(plays.map(({ own, methods }) => play(bed, own, methods)));

        for (const { key, passed } of plays)
          assert.deepEqual(reader.reads.filter(hasKey(key)).map(compared), passed.map(compared));
        assert.equal(reader.reads.length, plays.flatMap(({ passed }) => passed).length);
      },
    );
    // Half of what may be sent at once is, on average.
    const numRuns = Math.ceil(((name === "splice" ? 2 : 0.2) * cases) / atOnce);
    await fc.assert(batch, { numRuns });
  });
