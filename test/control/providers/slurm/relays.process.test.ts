import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { type TestContext, test } from "node:test";
import { openRelays } from "../../../../control/providers/slurm/relays.ts";
import { relayScript } from "../../../../control/providers/slurm/scripts.ts";
import { until } from "../../../helpers/agent.ts";

/** An agent that says everything twice, behind a relay. */
async function startRelay(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "relay-"));
  const [portFile, socket] = [join(folder, "port-0"), join(folder, "agent.sock")];
  writeFileSync(join(folder, "key"), "a secret\n");
  const agent = createServer((way) => way.on("data", (said) => way.write(`${said}${said}`)));
  await once(agent.listen(socket), "listening");
  const args = ["-e", relayScript, folder, "0", socket, String(process.pid)];
  const start = async () => {
    const relay = spawn(process.execPath, args, { stdio: "inherit" });
    await until(() => existsSync(portFile) || undefined);
    return async () => {
      relay.kill("SIGKILL");
      await once(relay, "exit");
      rmSync(portFile);
    };
  };
  let end = await start();
  t.after(async () => {
    await end();
    agent.close();
    rmSync(folder, { recursive: true });
  });
  return {
    node: { folder, rank: 0, address: "127.0.0.1" },
    port: () => readFileSync(portFile, "utf8").trim(),
    async again() {
      await end();
      end = await start();
    },
  };
}

test("an agent is reached through the relay of its node with the key of its cluster alone", async (t) => {
  const relay = await startRelay(t);
  const relaysWith = (key: string) =>
    openRelays({
      dial: async (host, port) => connect({ host, port }),
      run: async () => `${key}\nport-0:${relay.port()}\n`,
    });
  const relays = relaysWith("a secret");
  const ask = async () => {
    const way = await relays.connect(relay.node);
    way.write("hey");
    const [said] = await once(way, "data");
    way.destroy();
    return String(said);
  };

  assert.equal(await ask(), "heyhey");
  await assert.rejects(relaysWith("another").connect(relay.node));
  await assert.rejects(
    relaysWith("a secret").connect({ ...relay.node, rank: 1 }),
    /has not begun yet/,
  );

  await relay.again();
  await assert.rejects(ask(), /ECONNREFUSED/);
  assert.equal(await ask(), "heyhey");
});

test("a relay that does not answer is an error of ours", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const dialled = Promise.withResolvers<void>();
  const relays = openRelays({
    run: async () => "a secret\nport-0:1\n",
    async dial() {
      dialled.resolve();
      return new Duplex({ read() {}, write() {} });
    },
  });
  const reached = relays.connect({ folder: "/home/c1", rank: 0, address: "127.0.0.1" });
  const refused = assert.rejects(reached, { name: "TimeoutError", message: /does not answer/ });
  await dialled.promise;
  await new Promise(setImmediate);
  t.mock.timers.tick(10_000);
  await refused;
});
