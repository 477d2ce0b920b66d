import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { cleanHost, removeNodeOn, startAgentOn } from "../../../control/doors/ssh/agent-service.ts";
import { openSshConnections } from "../../../control/doors/ssh/connections.ts";
import { runOn } from "../../../control/doors/ssh/exec.ts";
import { checkHost } from "../../../control/doors/ssh/install.ts";
import { probeHost } from "../../../control/doors/ssh/probe.ts";
import { until } from "../../helpers/agent.ts";
import { startSshHost, whyNoHosts } from "../../helpers/ssh-hosts.ts";
import { findUnified } from "../../systemd/machine.ts";

const skip = whyNoHosts();

/** As one is that waits for a disk or a driver: there signals do nothing either. */
const noSignals = "kill() { :; }; export -f kill";

test("a host on which something cannot be ended is not clean, and keeps its files", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  const target = host.target();
  const facts = await probeHost(ssh, target);
  const text = `mkdir -p ~/.outrigger/jobs/1; cd; echo '${noSignals}' > .bashrc
    OUTRIGGER_JOB_FOLDER=~/.outrigger/jobs/1 sleep 1000 < /dev/null > /dev/null 2>&1 &`;
  await runOn(ssh, target, { what: "beginning a job", text, timeoutMs: 60_000 });

  await assert.rejects(removeNodeOn({ ssh, target, facts }), {
    name: "CloudError",
    message: /cleaning up failed: processes cannot be ended: \/proc\/\d+\/environ$/,
  });
  await host.run("test -d /home/ana/.outrigger/jobs/1");

  await host.run("rm /home/ana/.bashrc");
  await removeNodeOn({ ssh, target, facts });
  await host.run("! pgrep -u ana sleep && ! test -e /home/ana/.outrigger/jobs");
});

test("a host is clean although somebody else removes the same link at the same moment", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  const target = host.target();
  const facts = await probeHost(ssh, target);
  const text = `cd; ln -s ~/outrigger_workdir sky_workdir
    echo 'readlink() { command readlink "$@"; rm "$@"; }; export -f readlink' > .bashrc`;
  await runOn(ssh, target, { what: "preparing", text, timeoutMs: 60_000 });

  await removeNodeOn({ ssh, target, facts });

  await host.run("! test -L /home/ana/sky_workdir");
});

test("what hides from everything but its control group ends with the node of a host", {
  skip: skip || (findUnified() === undefined && "needs control groups v2"),
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  const target = host.target({ user: "root" });
  const facts = await probeHost(ssh, target);
  const seenHere = mkdtempSync(join(findUnified() ?? "", "test-"));
  const group = join("/sys/fs/cgroup", basename(seenHere));
  t.after(() => existsSync(seenHere) && rmdirSync(seenHere));
  await host.run("mount -t cgroup2 cgroup2 /sys/fs/cgroup");
  const text = `mkdir -p ~/.outrigger/jobs/1 ${group}/below; ln -s ${group} ~/.outrigger/jobs/1/groups
    (echo 0 > ${group}/below/cgroup.procs; exec env -i setsid sleep 1001) < /dev/null > /dev/null 2>&1 &`;
  await runOn(ssh, target, { what: "beginning a job", text, timeoutMs: 60_000 });
  await until(async () => (await host.run("pgrep -fx 'sleep 1001' || true")) !== "" || undefined);

  await removeNodeOn({ ssh, target, facts });

  await host.run("! pgrep -fx 'sleep 1001'");
  assert.equal(existsSync(seenHere), false);
});

test("an agent's unit that somebody installed by hand stays, with all that is the agent's", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  const target = host.target({ user: "root" });
  const unit = "/etc/systemd/system/outrigger-agent.service";
  await host.run(`mkdir -p ${dirname(unit)} /root/.outrigger/jobs; touch ${unit}`);
  const facts = { ...(await probeHost(ssh, target)), systemd: "system" } as const;

  assert.deepEqual(facts.foreignUnit, { owner: "root", path: unit });
  assert.throws(() => checkHost(target, facts), { message: /is the unit of an agent that root/ });
  const installed = { node: "/bin/false", folder: "/root/.outrigger/bundles/1" };
  const offer = {
    provider: "ssh",
    infra: "ssh/lab",
    region: "lab",
    zone: null,
    instanceType: "1CPU",
  };
  const machine = { cpus: 1, memoryGb: 1, accelerators: null, dollarsPerHour: 0 };
  const cluster = { name: "c", nodes: 1, offer: { ...offer, ...machine } };
  const occupant = { control: "here", clusterId: "c-1", rank: 0, cluster };
  for (const act of [
    () => startAgentOn({ ssh, target, facts }, installed, { build: "1", occupant }),
    () => removeNodeOn({ ssh, target, facts }),
    () => cleanHost({ ssh, target, facts }),
  ])
    await assert.rejects(act(), {
      message: /was installed by hand, and stays with all that it runs/,
    });
  await host.run(
    `test -e ${unit} && test -e /root/.outrigger/jobs && ! test -e /root/.outrigger/agent && ! test -e ${unit}.d`,
  );
});

test("nothing that is mounted within a node of a host is emptied when the node goes", {
  skip,
}, async (t) => {
  const host = await startSshHost(t);
  const ssh = openSshConnections({ find: async () => undefined, keep: async (_, key) => key });
  t.after(() => ssh.close());
  const target = host.target({ user: "root" });
  const facts = await probeHost(ssh, target);
  const text = `cd; mkdir -p theirs .outrigger/agent/mounts/x "bucket é" own
    touch theirs/kept
    for at in outrigger_workdir/{a,b,c,d,'e f'} .outrigger/jobs/1 "bucket é" own; do
      mkdir -p "$at"; mount --bind theirs "$at"
    done
    mkdir theirs/below; mount -t tmpfs tmpfs outrigger_workdir/a/below
    printf %s "$(pwd -P)/bucket é" > .outrigger/agent/mounts/x/root`;
  await runOn(ssh, target, { what: "mounting", text, timeoutMs: 60_000 });

  await removeNodeOn({ ssh, target, facts });

  const look = "cd; ls theirs; grep -c $(pwd -P)/ /proc/self/mounts; ls; ls -A .outrigger";
  const ran = await runOn(ssh, target, { what: "looking", text: look, timeoutMs: 60_000 });
  assert.equal(ran.replace(/^\s+/gm, ""), "below\nkept\n1\nbucket é\nown\ntheirs\n");
});
