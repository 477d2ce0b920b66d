import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import type { ClientChannel } from "ssh2";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();
const timeout = 120_000;
const greeting = { what: "greeting", text: "echo hello", timeoutMs: 60_000 };

async function start(t: TestContext) {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  return { host, ssh, target: host.target() };
}

test("a connection on which a channel is being opened is not closed for want of channels", {
  skip,
}, async (t) => {
  const { ssh, target } = await start(t);
  await runOn(ssh, target, greeting);

  // As on a host that is far away.
  const opening = ssh.channel<ClientChannel>(target, (client, done) =>
    setTimeout(() => client.exec("true", done), 100),
  );
  ssh.retire(target);

  await once((await opening).resume(), "close");
});

test("a connection that is retired while it is opened serves those who wait for it", {
  skip,
  timeout,
}, async (t) => {
  const { ssh, target } = await start(t);
  const closed = { ...target, port: 9 };
  const refused = ssh.channel<ClientChannel>(closed, (client, done) => client.exec("true", done));
  const opening = ssh.channel<ClientChannel>(target, (client, done) => client.exec("true", done));
  for (const one of [closed, target]) ssh.retire(one);

  await assert.rejects(refused);
  await once((await opening).resume(), "close");
});

test("a connection is closed, too, where no channel could be opened", {
  skip,
  timeout,
}, async (t) => {
  const { host, ssh, target } = await start(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });

  const refused = ssh.channel<ClientChannel>(target, (client, done) =>
    client.openssh_forwardOutStreamLocal("/nobody", done as never),
  );
  await assert.rejects(refused);
  await host.run("pgrep -u ana sshd");
  t.mock.timers.tick(60_000);

  await host.run("while pgrep -u ana sshd > /dev/null; do sleep 0.05; done");
});

test("a channel that is open only once nobody waits for it any more is closed", {
  skip,
  timeout,
}, async (t) => {
  const { ssh, target } = await start(t);
  const begun = Promise.withResolvers<[channel: ClientChannel, tell: () => void]>();

  const waiting = ssh.channel<ClientChannel>(target, (client, done) =>
    client.exec("cat", (error, channel) => begun.resolve([channel, () => done(error, channel)])),
  );
  await assert.rejects(waiting, { message: /opened no channel/ });
  const [channel, tell] = await begun.promise;
  const closed = once(channel.resume(), "close");
  tell();

  await closed;
});
