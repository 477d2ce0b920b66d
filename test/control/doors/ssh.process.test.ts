import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ClientChannel } from "ssh2";
import { Secret } from "../../../common/secret.ts";
import { openSshConnections, type SshConnections } from "../../../control/doors/ssh/connections.ts";
import { openChannelDoor } from "../../../control/doors/ssh/door.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import type { HostKey, KnownHosts } from "../../../control/doors/ssh/host-keys.ts";
import { machineOf, type SshTarget } from "../../../control/doors/ssh/target.ts";
import { until } from "../../helpers/agent.ts";
import {
  type SshHost,
  type SshHostOptions,
  startSshHost,
  whyNoHosts,
} from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();
const timeoutMs = 60_000;
/** Far less than the system waits by itself, and more than our limits come to where all is slow. */
const patienceMs = 60_000;

/** Keys that machines are known by, in memory. */
function openKnownHosts(): KnownHosts & { keys: Map<string, HostKey> } {
  const keys = new Map<string, HostKey>();
  return {
    keys,
    find: async (machine) => keys.get(machine),
    async keep(machine, key) {
      if (!keys.has(machine)) keys.set(machine, key);
      return keys.get(machine) ?? key;
    },
  };
}

async function start(t: TestContext, options?: SshHostOptions) {
  const host = await startSshHost(t, options);
  const known = openKnownHosts();
  const ssh = openSshConnections(known);
  t.after(() => ssh.close());
  return { host, known, ssh };
}

const hello = (ssh: SshConnections, target: SshTarget): Promise<string> =>
  runOn(ssh, target, { what: "greeting", text: "echo hello from $USER", timeoutMs });

const loginsOf = async ({ run }: SshHost): Promise<number> =>
  Number(await run("grep -c Accepted /var/log/sshd.log || true"));

/** An HTTP server as an agent is one: `/` answers, `/stream` writes a line and stays open. */
async function serveHttp({ run }: SshHost, socket: string): Promise<void> {
  const program = `require("node:http").createServer((req, res) => {
    if (req.url === "/") return res.end("ok " + process.pid);
    res.write("first\\n");
  }).listen("${socket}", () => require("node:fs").chmodSync("${socket}", 0o777))`;
  await run(
    `setsid /usr/local/bin/node -e '${program}' > /dev/null 2>&1 & until [ -S ${socket} ]; do :; done`,
  );
}

const doorTo = (ssh: SshConnections, target: SshTarget, socket: string) =>
  openChannelDoor(() =>
    ssh.channel<ClientChannel>(target, (client, done) =>
      client.openssh_forwardOutStreamLocal(socket, done as never),
    ),
  );

test("a script runs with its arguments and its input, and answers what it prints", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);

  const answer = await runOn(ssh, host.target(), {
    what: "counting",
    text: 'echo "$USER $1"; wc -c',
    args: ["it's"],
    input: Buffer.alloc(3_000_000),
    timeoutMs,
  });

  assert.equal(answer, "ana it's\n3000000\n");
});

test("whatever goes to a host goes over one connection, which is made anew when it is lost", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const target = host.target();

  await Promise.all([1, 2, 3, 4, 5].map(() => hello(ssh, target)));
  assert.equal(await loginsOf(host), 1);

  await host.run("pkill -u ana sshd");
  assert.equal(await until(() => hello(ssh, target).catch(() => undefined)), "hello from ana\n");
  assert.equal(await loginsOf(host), 2);
});

test("the door speaks HTTP to a socket on the host, also after the connection was lost", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t, { node: true });
  await serveHttp(host, "/tmp/a.sock");
  const door = doorTo(ssh, host.target(), "/tmp/a.sock");
  t.after(() => door.destroy());
  const get = async (path: string) =>
    (await door.request({ origin: "http://agent", method: "GET", path })).body;

  const answers = await Promise.all([1, 2, 3].map(async () => (await get("/")).text()));
  assert.equal(new Set(answers).size, 1);

  const stream = await get("/stream");
  const [first] = await stream.take(1).toArray();
  assert.equal(String(first), "first\n");

  const broken = assert.rejects(get("/stream").then((body) => body.text()));
  await host.run("pkill -u ana sshd");
  await broken;
  const again = await until(() =>
    get("/")
      .then((body) => body.text())
      .catch(() => undefined),
  );
  assert.match(again, /^ok /);
});

test("a host without an agent says so through the door at once", { skip }, async (t) => {
  const { host, ssh } = await start(t);
  const door = doorTo(ssh, host.target(), "/tmp/none.sock");
  t.after(() => door.destroy());

  await assert.rejects(door.request({ origin: "http://agent", method: "GET", path: "/" }), {
    message: /host 198\.51\.100\.\d+: .*(open failed|No such file)/i,
  });
});

test("a password opens a host, and so does a jump host that alone reaches it", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t, { password: "it's me" });
  const inner = host.target({ keys: [], password: new Secret("it's me") });
  assert.equal(await hello(ssh, inner), "hello from ana\n");

  const gate = await startSshHost(t);
  const behind = gate.target({ address: "127.0.0.1", user: "root", jump: gate.target() });
  assert.equal(await hello(ssh, behind), "hello from root\n");
  assert.match(machineOf(behind), /^\[127\.0\.0\.1\]:22 via \[198/);
});

test("keys may be in an SSH agent; one with a passphrase cannot be used from its file", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const folder = mkdtempSync(join(tmpdir(), "keys-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [file, agentSocket] = [join(folder, "key"), join(folder, "agent")];
  writeFileSync(file, host.key, { mode: 0o600 });
  const agent = spawn("ssh-agent", ["-D", "-a", agentSocket], { stdio: "ignore" });
  t.after(() => agent.kill());
  await until(() => existsSync(agentSocket) || undefined);
  execFileSync("ssh-add", ["-q", file], {
    env: { ...process.env, SSH_AUTH_SOCK: agentSocket },
  });

  assert.equal(await hello(ssh, host.target({ keys: [], agentSocket })), "hello from ana\n");

  execFileSync("ssh-keygen", ["-q", "-p", "-P", "", "-N", "secret", "-f", file]);
  const keys = [{ name: file, text: new Secret(readFileSync(file, "utf8")) }];
  await assert.rejects(hello(ssh, host.target({ keys })), {
    message: /the key .*key has a passphrase; load it in an SSH agent/,
  });
  assert.equal(await hello(ssh, host.target({ keys, agentSocket })), "hello from ana\n");
});

test("what is wrong with a host is said within seconds, and holds up no other", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const silent = await startSshHost(t);
  await silent.swallow();
  const frozen = await startSshHost(t);
  await frozen.run("pkill -STOP sshd");
  const other = await startSshHost(t, { without: ["bash"], shell: "/bin/sh" });
  const wrongKey = other.target({ keys: [{ name: "other", text: new Secret(host.key) }] });
  const noKey = other.target({ keys: [{ name: "mine", text: new Secret("no key") }] });
  const refused = (target: SshTarget, message: RegExp) =>
    assert.rejects(hello(ssh, target), { message });
  const begun = Date.now();
  let areSilent = true;
  const said = () => {
    areSilent = false;
  };

  await Promise.all([
    refused(silent.target(), /does not respond on port 22/).then(said),
    refused(frozen.target(), /does not respond on port 22/).then(said),
    refused(host.target({ port: 2 }), /nothing listens on port 2;/),
    refused(wrongKey, /refuses to let ana in \(tried: the key other\); add the public key/),
    refused(noKey, /the key mine is not a private key/),
    refused(other.target({ keys: [] }), /there is neither key nor password/),
    refused(other.target(), /it has no bash/),
    refused(host.target({ address: "no.such.invalid" }), /has no address|cannot be resolved/),
    hello(ssh, host.target()).then(() => assert.ok(areSilent, "a silent one held it up")),
  ]);
  assert.ok(Date.now() - begun < patienceMs);
});

test("a host whose key changed is refused with both fingerprints, until the new one is written down", {
  skip,
}, async (t) => {
  const { host, ssh, known } = await start(t);
  const target = host.target();
  await hello(ssh, target);
  const [[machine, before]] = [...known.keys] as [[string, HostKey]];
  assert.equal(machine, machineOf(target));
  const printed = await host.run("ssh-keygen -lf /etc/ssh/host_key.pub");
  assert.ok(printed.includes(before.fingerprint));

  await host.newHostKey();
  // Others that know what these knew: these may not have heard yet that their connection is gone.
  const later = openSshConnections(known);
  t.after(() => later.close());
  const error = await hello(later, target).catch((caught: Error) => caught);
  assert.ok(error instanceof Error);
  const [, was, is] = /it was (\S+), and is now (\S+)\. /.exec(error.message) ?? [];
  assert.equal(was, before.fingerprint);

  assert.equal(await hello(later, host.target({ hostKey: is ?? "" })), "hello from ana\n");
});

test("a connection that was retired is closed once nothing goes over it", { skip }, async (t) => {
  const { host, ssh } = await start(t);
  const target = host.target();
  const slow = { what: "waiting", text: "until [ -e /tmp/go ]; do sleep 0.1; done", timeoutMs };
  const waiting = runOn(ssh, target, slow);
  await hello(ssh, target);
  ssh.retire(target);

  assert.equal(await hello(ssh, target), "hello from ana\n");
  assert.equal(await loginsOf(host), 1);
  await host.run("touch /tmp/go");
  await waiting;
  // Whoever comes keeps one that was not retired open.
  await until(async () => {
    await hello(ssh, target).catch(() => {});
    return (await loginsOf(host)) > 1 || undefined;
  });
});

test("a script that takes too long is ended, and one whose host goes away is told apart", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const slow = { what: "sleeping", text: "echo $$ > ~/pid; sleep 1000", timeoutMs: 300 };

  await assert.rejects(runOn(ssh, host.target(), slow), {
    name: "TimeoutError",
    message: /sleeping took more than 300 ms/,
  });
  await host.run("until ! kill -0 $(cat /home/ana/pid) 2> /dev/null; do :; done");

  const lost = assert.rejects(runOn(ssh, host.target(), { ...slow, timeoutMs }), {
    message: /the connection was lost while sleeping/,
  });
  await host.run("until pgrep -u ana sleep; do :; done; pkill -u ana sshd");
  await lost;
});

test("a host whose power fails is noticed by its silence, and what goes over its connection ends", {
  skip,
}, async (t) => {
  const { host, ssh } = await start(t);
  const script = { what: "sleeping", text: "touch ~/begun; sleep 1000", timeoutMs: 60_000 };
  const lost = assert.rejects(runOn(ssh, host.target(), script), {
    message: /the connection was lost while sleeping/,
  });
  await host.run("until [ -e /home/ana/begun ]; do :; done");

  await host.swallow();

  await lost;
});

test("a full disk is called one", { skip }, async (t) => {
  const { host, ssh } = await start(t, { homeMb: 1 });

  const copying = runOn(ssh, host.target(), {
    what: "copying",
    text: "cat > ~/copy",
    input: Buffer.alloc(4_000_000),
    timeoutMs,
  });

  await assert.rejects(copying, { message: /copying failed: its disk is full/ });
});
