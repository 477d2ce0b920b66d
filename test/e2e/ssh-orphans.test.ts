import assert from "node:assert/strict";
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { whyNoHosts } from "../helpers/ssh-hosts.ts";
import { aTask, clusterOf } from "./cluster.ts";
import { type Lab, openLab } from "./ssh-lab.ts";

const onHosts = { resources: { infra: "ssh/lab" } };
const occupant = "~ana/.outrigger/agent/cluster.json";
const longTask = aTask("echo begun; sleep 1000", onHosts);

/** Takes the database away, or puts back how it was when that was done. */
function moveDatabase({ control }: Lab, from: string, to: string): void {
  const folder = join(control.home, "control");
  for (const name of readdirSync(folder))
    if (name.startsWith(`${from}state.db`) && !name.endsWith(".reserve"))
      renameSync(join(folder, name), join(folder, to + name.slice(from.length)));
}

test("clusters on hosts outlive the database: no deployment or launch touches them until they are adopted or ended", {
  skip: whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }]);
  const { control, hosts } = lab;
  const deployed = await lab.run("deploy");
  assert.equal(deployed.error, null, deployed.text);
  const [kept, left] = [clusterOf(control, "kept"), clusterOf(control, "left")];
  const job = await kept.launch(longTask);
  await left.launch(longTask);
  for (const cluster of [kept, left]) await cluster.untilJob(1, "RUNNING");

  await control.end("SIGKILL");
  moveDatabase(lab, "", "lost-");
  await control.start();
  await lab.put(hosts.map((host) => ({ host })));
  const refused = await lab.run("deploy");
  assert.match(
    refused.text,
    /it is a node of cluster kept \(\S+\), which is not in the database; see `outrigger api orphans`/,
  );
  assert.match(refused.error ?? "", /cannot deploy 2 of 2 hosts/);
  assert.equal(await kept.status(), undefined);

  const listed = await control.cli("api", "orphans");
  assert.match(listed.stdout, /^kept\s.*\bssh\s+1\s+1$/m, listed.stderr);
  assert.match(listed.stdout, /^left\s.*\bssh\s+1\s+1$/m);
  const adopted = await control.cli("api", "orphans", "--adopt", "kept");
  assert.equal(adopted.code, 0, adopted.stderr);
  await kept.untilStatus("UP");
  assert.equal(await kept.jobStatus(job), "RUNNING");
  const ended = await control.cli("api", "orphans", "--end", "left");
  assert.equal(ended.code, 0, ended.stderr);
  const living = await Promise.all(hosts.map(({ run }) => run("pgrep -fxc 'sleep 1000' || true")));
  assert.deepEqual(living.map((count) => count.trim()).sort(), ["0", "1"]);

  const again = await lab.run("deploy");
  assert.equal(again.error, null, again.text);
  const next = clusterOf(control, "next");
  await next.launch(aTask("true", onHosts));
  await next.untilJob(1, "SUCCEEDED");
  assert.match((await control.cli("api", "orphans")).stderr, /No orphans/);
  for (const cluster of [kept, next]) await cluster.down();
  assert.equal((await lab.run("down")).error, null);
});

test("a launch takes no host that a newer database gave to a cluster, and leaves it alone", {
  skip: whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }]);
  const { control } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  await control.end("SIGTERM");
  moveDatabase(lab, "", "older-");
  await control.start();
  await lab.put(lab.hosts.map((host) => ({ host })));
  assert.equal((await lab.run("deploy")).error, null);
  const newer = clusterOf(control, "newer");
  const job = await newer.launch(longTask);
  await control.end("SIGKILL");
  moveDatabase(lab, "", "newer-");
  moveDatabase(lab, "older-", "");
  await control.start();

  const other = await control.cli("launch", "-y", "-c", "other", "--infra", "ssh/lab", "true");
  assert.notEqual(other.code, 0);
  assert.match(
    other.stderr,
    /is a node of a cluster that is not in the database; see `outrigger api orphans`/,
  );
  assert.equal((await control.cli("api", "orphans", "--adopt", "newer")).code, 0);
  await newer.untilStatus("UP");
  assert.equal(await newer.jobStatus(job), "RUNNING");
  await newer.down();
});

test("a cluster is adopted with all of its nodes, or not while a host does not answer", {
  skip: whyNoHosts(),
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t, [{ node: true }, { node: true }, { node: true }]);
  const { control, hosts } = lab;
  assert.equal((await lab.run("deploy")).error, null);
  const pair = clusterOf(control, "pair");
  const job = await pair.launch(aTask("sleep 1000", { num_nodes: 2, ...onHosts }));
  await pair.untilJob(job, "RUNNING");
  await control.end("SIGKILL");
  moveDatabase(lab, "", "lost-");
  await control.start();
  await lab.put(hosts.map((host) => ({ host })));
  assert.match((await lab.run("deploy")).error ?? "", /cannot deploy 2 of 3 hosts/);

  const places = await Promise.all(hosts.map(({ run }) => run(`cat ${occupant} || true`)));
  const head = hosts[places.findIndex((text) => text.includes('"rank":0'))];
  assert.ok(head !== undefined, places.join());
  await head.ssh("down");
  const early = await control.cli("api", "orphans", "--adopt", "pair");
  assert.match(
    early.stderr,
    /1 of 2 nodes of pair were found; adopt it once the hosts of the others/,
  );
  assert.equal(await pair.status(), undefined);
  await head.ssh("up");

  const adopted = await control.cli("api", "orphans", "--adopt", "pair");
  assert.equal(adopted.code, 0, adopted.stderr);
  await pair.untilStatus("UP");
  assert.equal(await pair.jobStatus(job), "RUNNING");
  await pair.down();
});
