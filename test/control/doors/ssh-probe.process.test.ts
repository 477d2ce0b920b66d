import assert from "node:assert/strict";
import { test } from "node:test";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { describeHost, probeHost, readFacts } from "../../../control/doors/ssh/probe.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";

test("a host tells what it is made of", () => {
  const facts = readFacts(
    [
      "os=Linux",
      "arch=x86_64",
      "cpus=96",
      "memoryKb=131072000",
      "freeDiskKb=2097152",
      "gpu=GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
      "gpu=GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-2)",
      "bash=/usr/bin/bash",
      "user=ana",
      "home=/home/ana",
      "foreignUnit=root /etc/systemd/system/outrigger-agent.service",
      "systemd=user",
      "node=/usr/bin/node v24.1.0",
      "connection=10.0.0.1 40000 10.0.0.2 22",
    ].join("\n"),
  );

  assert.deepEqual(facts, {
    os: "Linux",
    arch: "x86_64",
    containers: null,
    cpus: 96,
    memoryGb: 125,
    freeDiskMb: 2048,
    accelerators: { name: "H100", count: 2 },
    hasBash: true,
    systemd: "user",
    user: "ana",
    home: "/home/ana",
    foreignUnit: { owner: "root", path: "/etc/systemd/system/outrigger-agent.service" },
    hasBundles: false,
    node: { path: "/usr/bin/node", version: "24.1.0" },
    address: "10.0.0.2",
  });
  assert.equal(facts && describeHost(facts), "Linux x86_64, 96 CPUs, 125 GB, H100:2");
  assert.equal(readFacts("This account is currently not available."), undefined);
});

test("accelerators go by the names that tasks ask for", () => {
  const nameOf = (model: string) =>
    readFacts(`os=Linux\nhome=/\ngpu=GPU 0: ${model} (UUID: GPU-1)`)?.accelerators?.name;

  assert.equal(nameOf("NVIDIA A100-SXM4-80GB"), "A100");
  assert.equal(nameOf("NVIDIA GeForce RTX 4090"), "RTX4090");
  assert.equal(nameOf("Tesla T4"), "T4");
});

test("real hosts are looked at in one round trip", { skip: whyNoHosts() }, async (t) => {
  const host = await startSshHost(t, { homeMb: 3 });
  const closed = await startSshHost(t, { shell: "/usr/sbin/nologin" });
  await host.run(
    "printf '#!/bin/sh\\necho GPU 0: NVIDIA L4 \\\\(UUID: x\\\\)\\n' > /usr/bin/nvidia-smi; chmod +x /usr/bin/nvidia-smi",
  );
  await host.run(
    'own=/run/user/$(id -u ana); mkdir -p "$own" && touch "$own/docker.sock" /usr/bin/docker /usr/bin/podman && chown -R ana "$own" && chmod +x /usr/bin/docker /usr/bin/podman',
  );
  const keys = { find: async () => undefined, keep: async <Key>(_: string, key: Key) => key };
  const ssh = openSshConnections(keys);
  t.after(() => ssh.close());

  const facts = await probeHost(ssh, host.target());

  assert.equal(facts.address, host.address);
  assert.equal(facts.home, "/home/ana");
  assert.equal(facts.hasBash, true);
  assert.equal(facts.systemd, null);
  assert.equal(facts.freeDiskMb, 3);
  assert.deepEqual(facts.accelerators, { name: "L4", count: 1 });
  assert.equal(facts.containers, "rootless docker");
  await host.run("rm /run/user/$(id -u ana)/docker.sock");
  assert.equal((await probeHost(ssh, host.target())).containers, "podman");
  await assert.rejects(probeHost(ssh, closed.target()), {
    message: /its shell runs no commands, but says: This account is currently not available/,
  });
});

test("a host whose shell never begins is told", {
  skip: whyNoHosts(),
}, async (t) => {
  const host = await startSshHost(t);
  await host.run("echo 'sleep 1000' > /home/ana/.bashrc");
  const keys = { find: async () => undefined, keep: async <Key>(_: string, key: Key) => key };
  const ssh = openSshConnections(keys);
  t.after(() => ssh.close());

  await assert.rejects(probeHost(ssh, host.target()), {
    name: "TimeoutError",
    message: /^host 198\.51\.100\.\d+: looking at it took more than 8000 ms$/,
  });
});
