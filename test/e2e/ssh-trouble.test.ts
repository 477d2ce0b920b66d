import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { type SshHost, whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf, type TestCluster } from "./cluster.ts";
import { type Lab, openLab } from "./ssh-lab.ts";

const skip = whyNoHosts();
const place = { resources: { infra: "ssh/lab" } };
/** Far less than the system waits by itself, and more than our limits come to where all is slow. */
const patienceMs = 60_000;

const agentsOn = ({ run }: SshHost) => run("pgrep -u ana -cf '^/[^ ]*/node .*/agent.mjs$' || true");
const go = (host: SshHost) => host.run("touch /home/ana/go");

/** The command line of what runs a job, for pgrep(1). */
const script = "bash -l .*/run.sh$";
/** A job that prints, waits for the file `go`, and prints again. */
const patientJob = "echo begun; until [ -e ~/go ]; do sleep 0.05; done; echo over";

type Eight = [SshHost, SshHost, SshHost, SshHost, SshHost, SshHost, SshHost, SshHost];

/** The host that the head of a cluster is on. */
async function hostOf(lab: Lab, cluster: TestCluster): Promise<SshHost> {
  const { text } = await cluster.follow(await cluster.exec(aTask("ip -4 -o addr show eth0")));
  const host = lab.hosts.find(({ address }) => text.includes(` ${address}/`));
  return host ?? assert.fail(text);
}

test("bad hosts are told with their reasons in time, and hold up no good one", {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [
    { node: true },
    { homeMb: 20 },
    { arch: "riscv64" },
    { without: ["bash"], shell: "/bin/sh" },
    ...Array(4).fill({ node: true }),
  ]);
  const [good, small, odd, bare, closed, deaf, lost, other] = lab.hosts as Eight;
  const wrongKey = join(lab.control.home, `key-${good.address}`);
  await lost.swallow();
  const entries = [
    ...[good, small, odd, bare, lost, other].map((host) => ({ host })),
    { host: closed, more: { identity_file: wrongKey } },
    { host: deaf, more: { port: 2 } },
  ];
  // Whatever takes long, such as packing Node.js, is done before the time counts.
  await lab.put([good, other, small].map((host) => ({ host })));
  assert.match((await lab.run("deploy")).error ?? "", /cannot deploy 1 of 3 hosts: /);
  await other.newHostKey();
  await lab.put(entries);

  const begun = performance.now();
  const { text, error } = await lab.run("deploy");
  assert.ok(performance.now() - begun < patienceMs);

  const lines = text.split("\n");
  const placeOf = ({ address }: SshHost) =>
    lines.findIndex((line) => line.includes(`/${address}: `));
  const says = (host: SshHost, what: RegExp) => assert.match(lines[placeOf(host)] ?? "", what);
  says(good, /: ready in [\d.]+ s/);
  assert.ok(placeOf(good) < placeOf(lost), text);
  says(deaf, /nothing listens on port 2; is the SSH server running\?/);
  says(lost, /does not respond on port 22; is it on, and does a firewall block it\?/);
  says(other, /its key has changed: it was SHA256:\S+, and is now SHA256:\S+\. .*`host_key: SHA/);
  says(small, /20 MB are free in \/home\/ana, and the agent needs \d+ MB; make room/);
  says(odd, /we have no Node\.js for riscv64 machines .*; install Node\.js 24 there/);
  says(bare, /it has no bash; install bash/);
  says(closed, /refuses to let ana in \(tried: the key .*\/key-/);
  assert.match(error ?? "", /cannot deploy 7 of 8 hosts: /);

  const { status, reason } = await lab.status();
  assert.equal(status, "Ready");
  assert.match(reason, /it has no bash; install bash/);
  assert.match(reason, new RegExp(`${good.address}: free \\(`));
  await clusterOf(lab.control, "one").launch(aTask("true", place));
});

test("a host that is away for a while", { skip, timeout: 300_000 }, async (t) => {
  const env = { OUTRIGGER_HEAD_PATIENCE_SECONDS: "1" };
  const lab = await openLab(t, [{ node: true }], env);
  const [host] = lab.hosts as [SshHost];
  await lab.run("deploy");
  const one = clusterOf(lab.control, "one");
  await one.launch(aTask("true", place));

  await t.test("a job outlives its SSH server; who follows sees each line once", async () => {
    const id = await one.exec(aTask(patientJob));
    const followed = one.follow(id);
    await one.untilJob(id, "RUNNING");
    await host.ssh("down");
    await one.untilStatus("INIT");
    await go(host);
    await host.ssh("up");
    const { code, text } = await followed;
    assert.deepEqual([code, text], [0, "begun\nover\n"]);
    await one.untilStatus("UP");
    assert.equal(await one.jobStatus(id), "SUCCEEDED");
  });

  await t.test("a job that died meanwhile is told apart", async () => {
    await host.run("rm /home/ana/go");
    const id = await one.exec(aTask(patientJob));
    const followed = one.follow(id);
    await one.untilJob(id, "RUNNING");
    await host.run(`until pgrep -u ana -f '${script}' > /dev/null; do sleep 0.02; done`);
    await host.ssh("down");
    await one.untilStatus("INIT");
    await host.run(`pkill -KILL -u ana -f '${script}'`);
    await host.ssh("up");
    assert.equal((await followed).code, 100);
    await one.untilStatus("UP");
    const [job] = await one.queue();
    assert.equal(job?.status, "FAILED");
    assert.match(String(job?.metadata["reason"]), /^run exited with 137\b/);
  });

  await t.test("control that was upgraded replaces agents, and touches no job", async () => {
    const id = await one.exec(aTask(patientJob));
    await one.untilJob(id, "RUNNING");
    await lab.control.end("SIGTERM");
    await host.run(`
      agent=$(pgrep -u ana -f '^/[^ ]*/node .*/agent.mjs$')
      mapfile -t -d '' command < /proc/$agent/cmdline
      mapfile -t -d '' variables < /proc/$agent/environ
      pkill -KILL -u ana -f agent.mjs
      setsid setpriv --reuid=4001 --regid=4001 --clear-groups \
        env -i "\${variables[@]}" OUTRIGGER_BUILD=older "\${command[@]}" > /dev/null 2>&1 < /dev/null &
      sleep 0.5`);
    const bundles = "/home/ana/.outrigger/bundles";
    await host.run(`mkdir ${bundles}/0123456789abcdef`);
    await lab.control.start();
    await until(async () => {
      const build = "tr '\\0' '\\n' < /proc/$(pgrep -u ana -f '/agent.mjs$' | head -n 1)/environ";
      const found = await host.run(`${build} | grep OUTRIGGER_BUILD=`).catch(() => "");
      return found !== "" && !found.includes("older") ? true : undefined;
    });
    await go(host);
    const { code, text } = await one.follow(id);
    assert.deepEqual([code, text], [0, "begun\nover\n"]);
    assert.equal(await host.run(`ls ${bundles} | wc -l`), "1");
  });

  await t.test(
    "a cluster goes down although its host is away, which is cleaned later",
    async () => {
      await one.exec(aTask("sleep 1000"));
      await host.ssh("down");
      await one.down();
      assert.match((await lab.status()).reason, /nothing listens on port 22/);
      await assert.rejects(one.launch(aTask("true", place)), { name: "ResourcesUnavailableError" });
      await host.ssh("up");
      await until(async () => ((await lab.run("deploy")).error === null ? true : undefined));
      assert.equal(await agentsOn(host), "0");
      assert.equal(existsSync(join(host.disk, "home/ana/.outrigger/jobs")), false);
      await one.launch(aTask("true", place));
    },
  );
});

test("hosts come and go while clusters are there", { skip, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }]);
  const [first, second] = lab.hosts as [SshHost, SshHost];
  await lab.put([{ host: first }]);
  await lab.run("deploy");
  const one = clusterOf(lab.control, "one");
  await one.launch(aTask("true", place));

  await t.test("a host is added", async () => {
    const two = clusterOf(lab.control, "two");
    await assert.rejects(two.launch(aTask("true", place)), { name: "ResourcesUnavailableError" });
    await lab.put([{ host: first }, { host: second }]);
    assert.equal((await lab.run("deploy")).error, null);
    await two.launch(aTask("true", place));
    await two.down();
  });

  await t.test("one that is drained takes no new cluster, and keeps what it has", async () => {
    await lab.put([{ host: first }, { host: second, more: { drain: true } }]);
    const two = clusterOf(lab.control, "two");
    await assert.rejects(two.launch(aTask("true", place)), { name: "ResourcesUnavailableError" });
    assert.match((await lab.status()).reason, /draining \(/);
    await lab.put([{ host: first }, { host: second }]);
    assert.equal(await hostOf(lab, one), first);
  });

  await t.test("one that a cluster is on cannot be removed, but replaced", async () => {
    await assert.rejects(lab.put([{ host: second }]), {
      message: /pool lab: host \S+ is a node of one; set `drain: now` for it/,
    });
    await lab.put([{ host: first, more: { drain: "now" } }, { host: second }]);
    await until(async () => ((await agentsOn(second)) === "1" ? true : undefined));
    await one.untilStatus("UP");
    assert.equal(await hostOf(lab, one), second);
    assert.equal(await agentsOn(first), "0");
  });

  await t.test("one that is removed is left without a file of ours", async () => {
    assert.notEqual(await first.run("ls -A /home/ana"), "");
    await lab.put([{ host: second }]);
    assert.equal(await first.run("ls -A /home/ana"), "");
    await one.down();
    await fetch(`${lab.control.endpoint}/ssh_node_pools/lab`, { method: "DELETE" });
    assert.equal(await second.run("ls -A /home/ana"), "");
  });
});
