import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findLeaks } from "../helpers/leaks.ts";
import { processesOf, startControl } from "../helpers/programs.ts";
import { startSshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";

const skip = whyNoHosts();
const password = "it's-a-Secret-1";
const wrong = "it's-a-Secret-2";

test("what opens hosts is nowhere to be read", { skip, timeout: 300_000 }, async (t) => {
  const hosts = await Promise.all(
    [{ node: true, password }, { password }, { node: true }].map((one) => startSshHost(t, one)),
  );
  // Hosts first, as in a lab: what ends control fails a test that left something behind there.
  const control = await startControl(t, { env: { LOG_LEVEL: "debug" } });
  const [good, refused, keyed] = hosts.map(({ address }) => address);
  const at = (name: string) => join(control.home, name);
  const body = hosts[2]?.key.split("\n")[2] ?? "";
  writeFileSync(at("lab-key"), hosts[2]?.key ?? "", { mode: 0o644 });
  const entries = [
    { ip: good, password },
    { ip: refused, password: wrong },
    { ip: keyed, identity_file: "lab-key" },
  ];
  writeFileSync(at("pools.yaml"), JSON.stringify({ lab: { user: "ana", hosts: entries } }));

  const up = await control.cli("ssh", "up", "-f", "pools.yaml");
  assert.equal(up.code, 1);
  assert.match(up.stdout, new RegExp(`${refused}: .*refuses to let ana in \\(tried: the password`));
  await control.end("SIGTERM");
  await control.start();
  const two = clusterOf(control, "two");
  const onTwo = { num_nodes: 2, resources: { infra: "ssh/lab" } };
  const { code } = await two.follow(await two.launch(aTask("env", onTwo)));
  assert.equal(code, 0);

  const own = ["pools.yaml", "lab-key"].map(at);
  const found = [password, wrong, body]
    .flatMap((secret) => findLeaks(secret, control.home))
    .filter((file) => !own.includes(file));
  assert.deepEqual(found, [at("control/ssh-keys/lab-key")]);
  assert.equal(statSync(found[0] ?? "").mode & 0o777, 0o600);
  assert.equal(statSync(at("control/ssh-keys")).mode & 0o777, 0o700);
  assert.deepEqual([password, wrong, body].flatMap(processesOf), []);

  const get = async (path: string) => (await fetch(`${control.endpoint}${path}`)).text();
  const paths = ["", "/keys", "/keys/lab-key", "/lab/status", "/../control/ssh-keys/lab-key"];
  const answers = await Promise.all(paths.map((path) => get(`/ssh_node_pools${path}`)));
  const listed = await control.cli("ssh", "keys", "-o", "json");
  for (const answer of [...answers, listed.stdout, up.stdout, up.stderr])
    for (const secret of [password, wrong, body]) assert.ok(!answer.includes(secret), answer);
  await two.down();
});
