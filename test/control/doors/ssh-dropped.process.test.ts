import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Secret } from "../../../common/secret.ts";
import { openSshConnections, type SshConnections } from "../../../control/doors/ssh/connections.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import type { SshTarget } from "../../../control/doors/ssh/target.ts";
import { until } from "../../helpers/agent.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();

function open(t: TestContext): SshConnections {
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  return ssh;
}

const hello = (ssh: SshConnections, target: SshTarget): Promise<string> =>
  runOn(ssh, target, { what: "greeting", text: "echo hello from $USER", timeoutMs: 60_000 });

test("a server that turns connections away while it is busy is asked again", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = open(t);
  await host.run("sed -i 's/^MaxStartups .*/MaxStartups 1/' /etc/ssh/sshd_config");
  await host.ssh("down");
  const says = (words: string) =>
    until(
      () => readFileSync(join(host.disk, "var/log/busy.log"), "utf8").includes(words) || undefined,
    );
  await host.run("/usr/sbin/sshd -f /etc/ssh/sshd_config -E /var/log/busy.log");
  await says("Server listening");
  const waiting = connect(22, host.address);
  t.after(() => waiting.destroy());
  // It has one that does not log in, and so has no room for another.
  await once(waiting, "data");
  const greeted = hello(ssh, host.target());
  await says("MaxStartups");

  waiting.destroy();

  assert.equal(await greeted, "hello from ana\n");
});

test("a port that takes connections and closes them is not called an SSH server", async (t) => {
  let taken = 0;
  const server = createServer((socket) => {
    taken += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const ssh = open(t);
  const { port } = server.address() as AddressInfo;
  const keys = [{ name: "none", text: new Secret("none") }];
  const where = { address: "127.0.0.1", port, user: "ana", keys };
  const target = { ...where, agentSocket: "/nowhere", password: null, hostKey: null, jump: null };

  await assert.rejects(hello(ssh, target), {
    message: /port \d+ accepts connections and closes them immediately; is the machine off/,
  });
  assert.equal(taken, 5);
});

test("a connection that is not used any more ends although its host is away", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = open(t);
  await hello(ssh, host.target());
  const sockets = () =>
    process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
  const before = sockets();
  await host.link("down");

  ssh.retire(host.target());

  await until(async () => sockets() < before || undefined);
});

test("a connection that a link loses is called lost", { skip }, async (t) => {
  const host = await startSshHost(t);
  const ssh = open(t);
  await hello(ssh, host.target());
  await host.link("down");

  const said = async () => {
    const error: unknown = await hello(ssh, host.target()).then(assert.fail, (error) => error);
    return error instanceof Error ? error.message : String(error);
  };
  const messages = [await said(), await said()];
  const expected = /the connection was lost; is it on, and is the network up\?|opened no channel/;
  for (const message of messages) assert.match(message, expected);
  assert.match(messages.join("\n"), /the connection was lost/);
});
