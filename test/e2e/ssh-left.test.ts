import assert from "node:assert/strict";
import { test } from "node:test";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const place = { resources: { infra: "ssh/lab" } };
const filesOf = ({ run }: SshHost, home = "/home/ana") => run(`ls -A ${home}`);
const sshOn = ({ run }: SshHost, port: number) =>
  run(`sed -i /^Port/d /etc/ssh/sshd_config; echo Port ${port} >> /etc/ssh/sshd_config`);

test("what hosts left behind is not forgotten", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }]);
  const [first, second] = lab.hosts as [SshHost, SshHost];
  const both = [{ host: first }, { host: second }];
  const isLeft = new RegExp(
    `^${second.address}: Outrigger could not be removed from ana@\\S+`,
    "m",
  );
  const leave = async () => {
    await lab.put(both);
    assert.equal((await lab.run("deploy")).error, null);
    await second.ssh("down");
    await lab.put([{ host: first }]);
    await second.ssh("up");
  };

  await t.test("a host that was off when it left is told of, and cleaned later", async () => {
    await lab.put(both);
    assert.equal((await lab.run("deploy")).error, null);
    await second.ssh("down");
    await lab.put([{ host: first }]);
    await lab.control.end("SIGKILL");
    await lab.control.start();

    const { reason } = await lab.status();
    assert.match(reason, isLeft);
    assert.match(reason, /: nothing listens on port 22; .*: outrigger ssh down lab --force$/m);
    const { text, error } = await lab.run("down");
    assert.match(
      error ?? "",
      /cannot clean up 1 of 2 hosts: lab\/\S+: .*nothing listens on port 22/,
    );
    assert.match(text, /nothing listens on port 22/);

    await second.ssh("up");
    const up = await lab.run("deploy");
    assert.equal(up.error, null);
    assert.match(up.text, /: Outrigger was removed from ana@/);
    assert.equal(await filesOf(second), "");
    assert.doesNotMatch((await lab.status()).reason, /could not be removed/);
  });

  await t.test("one that is a host again keeps its files, and takes clusters", async () => {
    await leave();
    await lab.put(both);
    assert.equal((await lab.run("deploy")).error, null);
    assert.doesNotMatch((await lab.status()).reason, /could not be removed/);
    assert.match(await filesOf(second), /outrigger/);
  });

  await t.test("so does one whose SSH server listens elsewhere by now", async () => {
    await second.ssh("down");
    await sshOn(second, 2222);
    await second.ssh("up");
    const moved = [
      { host: first, more: { drain: true } },
      { host: second, more: { port: 2222 } },
    ];
    await lab.put(moved);
    assert.match((await lab.status()).reason, /could not be removed from ana@\[\S+\]:22/);
    assert.equal((await lab.run("deploy")).error, null);
    assert.doesNotMatch((await lab.status()).reason, /could not be removed/);
    const one = clusterOf(lab.control, "one");
    await one.launch(aTask("true", place));
    await assert.rejects(
      lab.put([{ host: first }, { host: second, more: { port: 2222, user: "root" } }]),
      { message: /host \S+ is a node of one; set `drain: now` for it/ },
    );
    await one.down();
  });

  await t.test("another user has nothing of the first one's left there", async () => {
    const root = { host: second, more: { port: 2222, user: "root" } };
    await lab.put([{ host: first }, root]);
    assert.equal(await filesOf(second), "");
    assert.equal((await lab.run("deploy")).error, null);
    assert.match(await filesOf(second, "/root"), /outrigger/);
    await lab.put([{ host: first }, { ...root, more: { port: 2222, user: "root", drain: true } }]);
    assert.match(await filesOf(second, "/root"), /outrigger/);
    await lab.put([{ host: first }]);
    assert.equal(await filesOf(second, "/root"), "");
    await second.ssh("down");
    await sshOn(second, 22);
    await second.ssh("up");
  });

  await t.test("what cannot be cleaned is given up only when people say so", async () => {
    await leave();
    await second.ssh("down");
    const { control } = lab;
    await fetch(`${control.endpoint}/ssh_node_pools/lab`, { method: "DELETE" });
    assert.equal(await filesOf(first), "");
    assert.equal((await control.cli("ssh", "down", "lab")).code, 1);

    const { code, stdout } = await control.cli("ssh", "down", "lab", "--force");

    assert.equal(code, 0);
    assert.match(stdout, /^lab\/\S+: given up; ~\/\.outrigger stays at ana@\S+$/m);
    assert.equal((await control.cli("ssh", "down", "lab")).code, 3);
    await second.ssh("up");
  });
});
