import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { importWords, makeRoot, mountGroups, whyNoEngine } from "../helpers/engines.ts";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { openLab } from "./ssh-lab.ts";

const skip = whyNoHosts() || whyNoEngine("docker");

/** A daemon of root that the user of the pool may use. */
const startDaemon = `${mountGroups}
mkdir -p /var/lib
ln -sfn /run /var/run
setsid dockerd --bridge=none --iptables=false --ip-masq=false --data-root=/opt/docker > /var/log/docker 2>&1 &
until docker version > /dev/null 2>&1; do sleep 0.1; done
chmod 666 /var/run/docker.sock`;

test("a host with docker runs images as its user, and one without is left out", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [
    { node: true, without: ["podman"] },
    { node: true, without: ["podman"] },
  ]);
  const {
    control,
    hosts: [bare, host],
  } = lab;
  assert.ok(bare && host);
  const folder = mkdtempSync(join(tmpdir(), "image-"));
  t.after(async () => rmSync(folder, { recursive: true }));
  writeFileSync(join(host.disk, "opt/root.tar"), readFileSync(makeRoot(folder)));
  await host.run(
    `${startDaemon}\ndocker ${importWords("/opt/root.tar")
      .map((word) => `'${word}'`)
      .join(" ")}`,
  );
  assert.equal((await lab.run("deploy")).error, null);
  const task = {
    resources: { infra: "ssh/lab", image_id: "docker:lab/busy:1" },
    setup: "touch ~/left",
    run: "id -u; whoami; tool; (setsid sleep 1000 &)",
  };
  const file = join(control.home, "task.yaml");
  writeFileSync(file, stringify(task));

  await t.test("a job is its user's, and leaves nothing running", async () => {
    const { code, stdout, stderr } = await control.cli("launch", "-y", "-c", "boxed", file);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^4001\nana\nthe tool of the image$/m);
    assert.equal(
      await host.run("stat -c %U /home/ana/left; pgrep -fc '^sleep 1000' || true"),
      "ana\n0",
    );
  });

  await t.test("a second cluster finds no host with containers", async () => {
    const { code, stderr } = await control.cli("launch", "-y", "-c", "second", file);
    assert.notEqual(code, 0);
    assert.match(stderr, /nothing offers infra ssh\/lab, containers/);
  });

  await t.test("a removal leaves no container", async () => {
    assert.equal((await control.cli("down", "-y", "boxed")).code, 0);
    assert.equal(await host.run("docker ps -aq"), "");
  });
});
