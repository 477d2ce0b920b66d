import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();
const megabyte = Buffer.alloc(2 ** 20);

async function start(t: TestContext) {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  return { host, ssh };
}

/** More than a connection takes of what nobody reads. */
const tooMuch = () => Readable.from(Array.from({ length: 8 }, () => megabyte));

test("a script that neither reads its input nor can be ended is not waited for", {
  skip,
  timeout: 120_000,
}, async (t) => {
  const { host, ssh } = await start(t);
  const input = tooMuch();
  // In a session of its own no signal comes to it, and it holds the channel open.
  const text = "exec setsid sleep 1000";

  const stuck = runOn(ssh, host.target(), { what: "unpacking", text, input, timeoutMs: 300 });

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
