import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, PassThrough, type Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import ssh2, { type ClientChannel } from "ssh2";
import { readKeys } from "../../../../control/clusters/ssh-door/keys.ts";
import { serveSsh } from "../../../../control/clusters/ssh-door/server.ts";
import type { Context } from "../../../../control/context.ts";
import { until } from "../../../helpers/agent.ts";

interface Node {
  /** Opens a port of the node. */
  dial(host: string, port: number): Promise<Duplex>;
  /** Is given what a client sends to a shell. */
  shell?(input: Readable): void;
}

/** A client that has logged in to a node. */
async function logIn(t: TestContext, { dial, shell }: Node) {
  const home = mkdtempSync(join(tmpdir(), "door-"));
  const keys = await readKeys({ home });
  const log = { info() {}, debug() {} };
  const node = { id: "n", rank: 0, state: "running", address: "10.0.0.9" };
  const provider = {
    list: async () => [node],
    dial: (_: unknown, host: string, port: number) => dial(host, port),
    endpoint: () => assert.fail("a listener on this machine would be open to all its users"),
  };
  const agent = {
    open(_row: unknown, _input: unknown, signal: AbortSignal, input: Readable) {
      shell?.(input);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal)));
    },
  };
  const ctx = { log, provider: () => provider, agent: () => agent } as unknown as Context;
  const cluster = { name: "dev", provider: "fake", nodes: 1 } as never;
  const server = createServer((way) => void serveSsh(ctx, { cluster, rank: 0, keys }, way));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const client = new ssh2.Client();
  t.after(async () => {
    client.destroy();
    server.close();
    await once(server, "close");
    rmSync(home, { recursive: true });
  });
  const ready = once(client, "ready");
  client.connect({ sock: socket, username: "any", privateKey: keys.user.privateText });
  await ready;
  return client;
}

const forward = (client: ssh2.Client, host: string, port: number) =>
  new Promise<ClientChannel>((resolve, reject) => {
    client.forwardOut("127.0.0.1", 0, host, port, (error, channel) =>
      error ? reject(error) : resolve(channel),
    );
  });

test("a port is dialled on the node, and nothing beyond the node is", async (t) => {
  const dialled: unknown[] = [];
  const client = await logIn(t, {
    async dial(...place) {
      dialled.push(place);
      return new PassThrough();
    },
  });

  const channel = await forward(client, "localhost", 8888);
  channel.write("there and back");
  const [back] = await once(channel, "data");
  await forward(client, "10.0.0.9", 9);

  assert.equal(String(back), "there and back");
  for (const host of ["10.0.0.8", "169.254.169.254", "127.0.0.1.example.org", "0.0.0.0"])
    await assert.rejects(forward(client, host, 80), /Channel open failure/, host);
  assert.deepEqual(dialled, [
    ["localhost", 8888],
    ["10.0.0.9", 9],
  ]);
});

test("channels that are being opened count, and what opens too late is closed", async (t) => {
  const pending: ((way: Duplex) => void)[] = [];
  const client = await logIn(t, { dial: () => new Promise((resolve) => pending.push(resolve)) });

  for (let port = 1; port <= 64; port += 1) forward(client, "localhost", port).catch(() => {});
  await assert.rejects(forward(client, "localhost", 65), /Channel open failure/);
  assert.equal(pending.length, 64);
  client.destroy();
  await once(client, "close");
  const late = new PassThrough();
  for (let turns = 0; turns < 10; turns += 1) await turn();
  pending[0]?.(late);

  await until(() => late.destroyed || undefined);
});

test("a size that no terminal has is cut, and only the last of many waits for a slow node", async (t) => {
  const { promise, resolve } = Promise.withResolvers<Readable>();
  const client = await logIn(t, { dial: () => assert.fail(), shell: resolve });
  const pty = { cols: 100_000, rows: 24, width: 0, height: 0, term: "xterm" };
  const channel = await new Promise<ClientChannel>((open, fail) => {
    client.shell(pty, (error, one) => (error ? fail(error) : open(one)));
  });
  const input = await promise;

  for (let rows = 1; rows <= 10_000; rows += 1) channel.setWindow(rows, 80, 0, 0);
  channel.write("typed");
  const held = () => input.readableLength + (input as PassThrough).writableLength;
  await until(async () => {
    const before = held();
    for (let turns = 0; turns < 20; turns += 1) await turn();
    return before === held() || undefined;
  });
  const most = held();
  let text = "";
  input.on("data", (chunk) => {
    text += chunk;
  });
  await until(() => text.includes('"rows":10000') || undefined);

  assert.ok(most < 200_000, `${most} bytes are held`);
  assert.match(text.split("\n")[0] ?? "", /"columns":65535,"rows":24/);
  assert.doesNotMatch(text.slice(text.indexOf('"rows":10000') + 13), /resize/);
});

test("a client that never speaks is let go", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const home = mkdtempSync(join(tmpdir(), "door-"));
  t.after(() => rmSync(home, { recursive: true }));
  const way = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });

  const place = { cluster: {} as never, rank: 0, keys: await readKeys({ home }) };
  await serveSsh({} as Context, place, way);
  t.mock.timers.tick(30_000);

  assert.ok(way.destroyed);
});
