import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();

async function start(t: TestContext) {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  return { host, ssh };
}

/** More than a connection takes of what nobody reads; no signal is sent once all of it was handed over. */
const tooMuch = () => Readable.from([Buffer.alloc(8 * 2 ** 20)]);

test("a script that neither reads its input nor can be ended is not waited for", {
  skip,
  timeout: 120_000,
}, async (t) => {
  const { host, ssh } = await start(t);
  const input = tooMuch();
  const script = { what: "unpacking", text: "exec sleep 1000", input, timeoutMs: 300 };

  const stuck = runOn(ssh, host.target(), script);

  await assert.rejects(stuck, { name: "TimeoutError", message: /unpacking took more than 300 ms/ });
  assert.ok(input.destroyed, "the file that it is read from would stay open");
});

test("the input of a script that cannot be begun is closed", { skip }, async (t) => {
  const { host, ssh } = await start(t);
  await host.ssh("down");
  const input = tooMuch();

  await assert.rejects(
    runOn(ssh, host.target(), { what: "unpacking", text: "cat", input, timeoutMs: 1_000 }),
  );

  assert.ok(input.destroyed);
});

test("scripts wait where a server allows no more sessions", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const script = { what: "counting", text: "sleep 3; echo done", timeoutMs: 30_000 };

  // One connection has at most ten. Source: sshd_config(5), MaxSessions.
  const said = await Promise.all(
    Array.from({ length: 14 }, () => runOn(ssh, host.target(), script)),
  );

  assert.deepEqual(new Set(said), new Set(["done\n"]));
});
