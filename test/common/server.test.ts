import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { openLog } from "../../common/log.ts";
import { innerOperations } from "../../common/operation.ts";
import { type Bound, serve, toJsonLines } from "../../common/server.ts";
import { openHttpClient } from "../helpers/http-client.ts";

test("the socket is its owner's alone, and nothing else of the agent is touched by that", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const socket = join(folder, "a.sock");

  const serving = serve({}, {}, { socket, log: openLog("agent", "error") });
  mkdirSync(join(folder, "meanwhile"));
  const server = await serving;
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  assert.equal(server.keepAliveTimeout, 0, "it ends no connection that a call may come on");
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  assert.equal(statSync(join(folder, "meanwhile")).mode & 0o100, 0o100);
});

test("a stream ends when its reader goes while the next chunk is made", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const socket = join(folder, "a.sock");
  const stream = {
    mode: "stream",
    summary: "A stream.",
    output: z.unknown(),
  } as const;
  const rows = innerOperations({ stream: { route: "GET /", ...stream } });
  const gone = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  async function* content() {
    let chunks = 0;
    try {
      yield "first";
      await gone.promise;
      for (; chunks < 1_000; chunks += 1) yield "more";
    } finally {
      ended.resolve(chunks);
    }
  }
  const run: Bound<typeof rows>["stream"] = (_, { signal }) => {
    signal.addEventListener("abort", () => gone.resolve());
    return { type: "text/plain", content: content() };
  };
  const server = await serve(rows, { stream: run }, { socket, log: openLog("agent", "error") });
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const reader = connect(socket).end("GET / HTTP/1.1\r\nhost: agent\r\n\r\n");
  await once(reader, "data");
  reader.destroy();

  assert.equal(await ended.promise, 0);
});

test("a caller who cannot be let in is no reason to leave", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const server = await serve(
    {},
    {},
    { socket: join(folder, "a.sock"), log: openLog("agent", "error") },
  );
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  for (const _ of [1, 2]) assert.ok(server.emit("error", new Error("accept EMFILE")));
});

test("a body is read up to the limit of its server, and objects are sent as lines", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const socket = join(folder, "a.sock");
  const rows = innerOperations({
    echo: {
      route: "POST /",
      mode: "stream",
      summary: "The words, a line each.",
      input: { body: z.object({ words: z.array(z.string()) }) },
      output: z.unknown(),
    },
  });
  async function* each(words: string[]) {
    for (const word of words) yield { word };
  }
  const echo: Bound<typeof rows>["echo"] = ({ words }) => toJsonLines(each(words));
  const log = openLog("agent", "error");
  const server = await serve(rows, { echo }, { socket, log, bodyBytesAtMost: 30 });
  const client = openHttpClient(socket);
  t.after(async () => {
    await client.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  const fits = await client.http("POST", "/", { body: { words: ["a", "b"] } });
  const tooLarge = await client.http("POST", "/", { body: { words: ["a", "b", "c", "d", "e"] } });

  assert.equal(fits.text, '{"word":"a"}\n{"word":"b"}\n');
  assert.equal(tooLarge.status, 413);
});

test("a stream comes bare only where it stays open and its caller asks for that", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "s-"));
  const socket = join(folder, "a.sock");
  const row = { mode: "stream", summary: "A stream.", output: z.unknown() } as const;
  const rows = innerOperations({
    ends: { route: "GET /ends", ...row },
    stays: { route: "GET /stays", staysOpen: true, ...row },
  });
  async function* content() {
    yield "said";
  }
  const run = () => ({ type: "text/plain", content: content() });
  const log = openLog("agent", "error");
  const server = await serve(rows, { ends: run, stays: run }, { socket, log });
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  const answerTo = async (path: string, ...headers: string[]) => {
    const lines = [`GET ${path} HTTP/1.1`, "host: agent", ...headers, "", ""];
    const reader = connect(socket);
    reader.write(lines.join("\r\n"));
    return (await reader.toArray()).join("");
  };
  const asks = (protocol: string) => ["connection: upgrade", `upgrade: ${protocol}`];

  assert.match(await answerTo("/stays", ...asks("stream")), /^HTTP.1.1 101 .*\r\n\r\nsaid$/s);
  const plain = /^HTTP.1.1 200 .*\r\n\r\n4\r\nsaid\r\n0\r\n\r\n$/s;
  assert.match(await answerTo("/stays", ...asks("websocket")), plain);
  assert.match(await answerTo("/ends", ...asks("stream")), plain);
  assert.match(await answerTo("/stays", "connection: close", "upgrade: stream"), plain);
});
