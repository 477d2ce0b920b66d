import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Bundle, Bundles } from "../../../control/doors/ssh/bundles.ts";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { installAgent } from "../../../control/doors/ssh/install.ts";
import { probeHost } from "../../../control/doors/ssh/probe.ts";
import { until } from "../../helpers/agent.ts";
import { type SshHostOptions, startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

const skip = whyNoHosts();
const folder = "/home/ana/.outrigger/bundles";

/** A bundle of one program. */
function pack(t: TestContext, file: string, text: string): Bundle {
  const home = mkdtempSync(join(tmpdir(), "bundle-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "files/bin"), { recursive: true });
  writeFileSync(join(home, "files", file), text, { mode: 0o755 });
  const packed = join(home, "bundle.tar.gz");
  execFileSync("tar", ["-czf", packed, "-C", join(home, "files"), "."]);
  const bytes = readFileSync(packed);
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { hash, file: packed, bytes: bytes.length };
}

/** A host without Node.js, and two bundles for it; `with` installs others in their place. */
async function start(t: TestContext, options: SshHostOptions = {}) {
  const host = await startSshHost(t, options);
  const keys = { find: async () => undefined, keep: async <Key>(_: string, key: Key) => key };
  const ssh = openSshConnections(keys);
  t.after(() => ssh.close());
  const agent = pack(t, "agent.mjs", "");
  const runtime = pack(t, "bin/node", "#!/bin/sh\necho v24\n");
  let uploads = 0;
  const install = async (others: { agent?: Bundle; runtime?: Bundle } = {}) => {
    const bundles: Bundles = {
      agent: async () => others.agent ?? agent,
      runtime: async () => others.runtime ?? runtime,
      inTurn: (work) => {
        uploads += 1;
        return work();
      },
    };
    const target = host.target();
    return installAgent(ssh, { target, facts: await probeHost(ssh, target) }, bundles);
  };
  return {
    ...{ host, agent, runtime, install },
    uploads: () => uploads,
    listed: async () => (await host.run(`ls -A ${folder}`)).split("\n").filter(Boolean).sort(),
  };
}

test("a bundle is sent once for each content", { skip }, async (t) => {
  const { host, install, uploads, listed, agent, runtime } = await start(t);

  const installed = await install();
  assert.equal(uploads(), 2);
  assert.equal(await host.run(installed.node), "v24");
  assert.deepEqual(await install(), installed);
  assert.equal(uploads(), 2);

  const newer = pack(t, "agent.mjs", "// newer");
  assert.notEqual((await install({ agent: newer })).folder, installed.folder);
  assert.equal(uploads(), 3);
  const names = [agent, runtime, newer].map(({ hash }) => hash.slice(0, 16));
  assert.deepEqual(await listed(), names.sort());
});

test("what arrives otherwise than it was sent, or does not start there, is not kept", {
  skip,
}, async (t) => {
  const { install, listed, agent, runtime } = await start(t);
  const torn = { ...runtime, hash: createHash("sha256").update("another").digest("hex") };
  const foreign = pack(t, "bin/node", "\x7fELF of another machine");

  await assert.rejects(install({ runtime: torn }), {
    message: /unpacking the agent failed: what arrived is not what was sent$/,
  });
  await assert.rejects(install({ runtime: foreign }), {
    message: /unpacking the agent failed: .*(cannot execute|Exec format error|not found)/,
  });
  assert.deepEqual(await listed(), [agent.hash.slice(0, 16)]);
});

test("an upload that is cut leaves nothing, and the next one is whole", { skip }, async (t) => {
  const { host, install, listed, runtime } = await start(t);
  const pipe = join(mkdtempSync(join(tmpdir(), "pipe-")), "bundle");
  t.after(() => rmSync(join(pipe, ".."), { recursive: true, force: true }));
  execFileSync("mkfifo", [pipe]);
  const trickle = openSync(pipe, "r+");
  const timer = setInterval(() => writeSync(trickle, "x"), 20);
  t.after(() => clearInterval(timer));

  const cut = assert.rejects(install({ runtime: { ...runtime, file: pipe } }), {
    message: /the connection (was lost while unpacking the agent|failed: it was lost)/,
  });
  // The other bundle is unpacked before it.
  const part = `.${runtime.hash.slice(0, 16)}`;
  const isUnderWay = async () => (await listed()).some((name) => name.startsWith(part));
  await until(() =>
    isUnderWay()
      .catch(() => false)
      .then((is) => is || undefined),
  );
  await host.run("pkill -u ana sshd");
  await cut;
  clearInterval(timer);
  closeSync(trickle);
  await until(async () => !(await isUnderWay()) || undefined);

  const { node } = await install();
  assert.equal(await host.run(node), "v24");
});

test("a disk that is full is named before anything is packed", { skip }, async (t) => {
  const { host } = await start(t, { homeMb: 20 });
  const keys = { find: async () => undefined, keep: async <Key>(_: string, key: Key) => key };
  const ssh = openSshConnections(keys);
  t.after(() => ssh.close());
  const target = host.target();
  const never = () => assert.fail("nothing is to be packed");
  const bundles: Bundles = { agent: never, runtime: never, inTurn: never };
  const facts = await probeHost(ssh, target);

  await assert.rejects(installAgent(ssh, { target, facts }, bundles), {
    message: /host .*: \d+ MB are free in \/home\/ana, and the agent needs 152 MB; make room$/,
  });
});
