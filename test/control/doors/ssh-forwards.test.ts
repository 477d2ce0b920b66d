import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { isReachable, openForwards } from "../../../control/doors/ssh/forwards.ts";

/** A service that says what it was sent, once it was sent all. */
async function anEcho(t: TestContext): Promise<{ port: number; dial: () => Promise<Socket> }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    text(socket).then(
      (said) => socket.end(`you said ${said}`),
      () => {},
    );
  }).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, dial: async () => connect({ port, host: "127.0.0.1", allowHalfOpen: true }) };
}

const portIn = (address: string): number => Number(address.split(":")[1]);

async function say(address: string, words: string): Promise<string> {
  const socket = connect({ port: portIn(address), host: "127.0.0.1", allowHalfOpen: true });
  socket.end(words);
  return text(socket);
}

test("a port of a node is reached through a listener here until the node is left", async (t) => {
  const { dial } = await anEcho(t);
  const forwards = openForwards();
  t.after(forwards.closeAll);

  const address = await forwards.open("c1-0", 8080, dial);
  assert.equal(await forwards.open("c1-0", 8080, dial), address);
  assert.notEqual(await forwards.open("c1-0", 8081, dial), address);
  assert.deepEqual(await Promise.all(["a", "b"].map((word) => say(address, word))), [
    "you said a",
    "you said b",
  ]);

  const open = connect(portIn(address), "127.0.0.1");
  await once(open, "connect");
  const cut = once(open, "close");
  forwards.close("c1-0");
  await cut;
  assert.equal(await isReachable("127.0.0.1", portIn(address)), false);
});

test("a replica that is reached through a listener answers hundreds of requests at a time", async (t) => {
  const { dial } = await anEcho(t);
  const forwards = openForwards();
  t.after(forwards.closeAll);
  const count = 300;
  const all = Promise.withResolvers<void>();
  let dialled = 0;
  const address = await forwards.open("c1-0", 8080, async () => {
    dialled += 1;
    if (dialled === count) all.resolve();
    await all.promise;
    return dial();
  });

  const answers = Array.from({ length: count }, () => say(address, "a").catch(String));
  const first = await Promise.race(answers);
  all.resolve();
  assert.equal(first, "you said a");
  assert.deepEqual([...new Set(await Promise.all(answers))], ["you said a"]);
});

test("a listener that cannot be opened now is opened for whoever asks again", async (t) => {
  const { dial } = await anEcho(t);
  const forwards = openForwards();
  t.after(forwards.closeAll);
  const listening = t.mock.method(Server.prototype, "listen", function (this: Server) {
    setImmediate(() => this.emit("error", new Error("too many open files")));
    return this;
  });

  await assert.rejects(forwards.open("c1-0", 8080, dial), { message: "too many open files" });
  listening.mock.restore();

  assert.equal(await say(await forwards.open("c1-0", 8080, dial), "a"), "you said a");
});

test("a port of a node has the same listener again, or another where that is taken", async (t) => {
  const { dial } = await anEcho(t);
  const [first, second] = [openForwards(), openForwards()];
  for (const forwards of [first, second]) t.after(forwards.closeAll);
  const again = async (nodeId: string) => {
    const address = await first.open(nodeId, 8080, dial);
    first.close(nodeId);
    return (await first.open(nodeId, 8080, dial)) === address ? address : undefined;
  };
  // Somebody else may have the port of one node, but not those of all.
  const nodeIds = Array.from({ length: 20 }, () => randomUUID());
  let [nodeId = ""] = nodeIds;
  let address: string | undefined;
  while (address === undefined && nodeIds.length > 0) {
    nodeId = nodeIds.pop() ?? "";
    address = await again(nodeId);
  }

  assert.ok(address !== undefined, "no node had its listener again");
  const other = await second.open(nodeId, 8080, dial);
  assert.notEqual(other, address);
  assert.equal(await say(other, "b"), "you said b");
});

test("a way that cannot be opened ends the connection", async (t) => {
  const forwards = openForwards();
  t.after(forwards.closeAll);
  const address = await forwards.open("c1-0", 1, () => Promise.reject(new Error("it is away")));

  assert.equal(await say(address, "hello").catch(() => ""), "");
});

test("a node has so many listeners and no more", async (t) => {
  const { port, dial } = await anEcho(t);
  const forwards = openForwards();
  t.after(forwards.closeAll);
  for (let at = 1; at <= 32; at += 1) await forwards.open("c1-0", at, dial);

  await assert.rejects(forwards.open("c1-0", 33, dial), {
    name: "NotSupportedError",
    message:
      /^32 ports of node c1-0 are forwarded through its SSH connection, and that is the maximum/,
  });
  assert.match(await forwards.open("c1-0", 32, dial), /^127/);
  assert.match(await forwards.open("c2-0", 33, dial), /^127/);
  assert.equal(await isReachable("127.0.0.1", port), true);
});

test("a network that answers for every port is not taken for the node", async (t) => {
  const host = "127.0.0.9";
  const listen = async (port: number) => {
    const server = createServer((socket) => socket.destroy()).listen(port, host);
    t.after(() => server.close());
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  assert.equal(await isReachable(host, port), true);
  if (process.getuid?.() !== 0) return t.skip("only root may listen on port 1");
  await listen(1);

  assert.equal(await isReachable(host, port), false);
});
