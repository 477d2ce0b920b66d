import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { findAgent, listNodeHomes, startControl, type TestControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("an agent is killed under a running job", { timeout: 300_000 }, async (t) => {
  const env = { OUTRIGGER_LOCAL_ACCELERATORS: "H100:1" };
  const control = await startControl(t, { env });
  const cluster = clusterOf(control, "demo");
  const ran = join(control.home, "ran");
  const whole = { resources: { accelerators: "H100:1" } };
  const queued = (name: string) => cluster.exec(aTask(`echo ${name} >> ${ran}`, whole));

  const run = 'for i in {1..300}; do echo "line $i"; read -rt 0.005 <> <(:); done; exit 5';
  const id = await cluster.launch(aTask(run, whole));
  const second = await queued("second");
  const followed = cluster.follow(id);
  const revived = killAgent(listNodeHomes(control.home)[0]);
  const third = await queued("third");
  await revived;
  const lines = Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`);
  assert.deepEqual(await followed, { code: 100, text: lines.join("") });
  await assertStayedUp(control);
  for (const one of [second, third]) assert.equal((await cluster.follow(one)).code, 0);
  assert.equal(readFileSync(ran, "utf8"), "second\nthird\n");
  const jobs = (await cluster.queue()).map(({ job_id, status }) => [job_id, status]);
  assert.deepEqual(jobs.reverse(), [
    [id, "FAILED"],
    [second, "SUCCEEDED"],
    [third, "SUCCEEDED"],
  ]);
});

test("a corrupt journal costs a cluster nothing, and an event says so", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const go = join(control.home, "go");
  const run = `echo begins; until [ -e ${go} ]; do sleep 0.05; done; echo ends`;
  const id = await cluster.launch(aTask(run));
  const followed = cluster.follow(id);
  const home = listNodeHomes(control.home)[0] ?? "";
  const revived = killAgent(home);
  for (const name of ["journal.db", "journal.db-wal"])
    writeFileSync(join(home, ".outrigger/agent", name), "nothing that is a database");

  const second = await cluster.exec(aTask("echo second"));
  await revived;
  writeFileSync(go, "");

  assert.deepEqual(await followed, { code: 0, text: "begins\nends\n" });
  assert.deepEqual(await cluster.follow(second), { code: 0, text: "second\n" });
  await assertStayedUp(control);
  const asked = { cluster_name: "demo", event_type: "DEBUG" } as const;
  const told = await until(async () => {
    const events = await control.client.callAndGet(rows.clusterEvents, asked);
    const found = JSON.stringify(events).match(/the journal of the agent of node 0 was corrupt/g);
    return found ?? undefined;
  });
  assert.equal(told.length, 1);
});

test("an agent is killed before it ever answered", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const launching = cluster.launch(aTask("echo well"));
  const agent = await until(() => findAgent(listNodeHomes(control.home)[0] ?? ""));
  process.kill(agent, "SIGKILL");
  assert.deepEqual(await cluster.follow(await launching), { code: 0, text: "well\n" });
});

test("agents are killed under a job on two nodes", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const at = (name: string) => join(control.home, name);
  const count = 'for i in {1..150}; do echo "line $i"; read -rt 0.01 <> <(:); done';
  for (const [rank, name] of ["head", "worker"].entries())
    await t.test(name, async () => {
      // The end of the rank that fails is the end of the other one, so that has said all before.
      const said = at(`${name}-said`);
      const meet = `touch ${said}$OUTRIGGER_NODE_RANK; until [ -e ${said}0 ]; do sleep 0.05; done`;
      const run = `touch ${at(name)}$OUTRIGGER_NODE_RANK; ${count}; ${meet}; exit $OUTRIGGER_NODE_RANK`;
      const id = await cluster.launch(aTask(run, { num_nodes: 2 }));
      const followed = cluster.follow(id);
      await until(() => (existsSync(at(`${name}0`)) && existsSync(at(`${name}1`))) || undefined);
      await killAgent(listNodeHomes(control.home).find((home) => home.endsWith(`-${rank}`)));
      const { code, text } = await followed;
      assert.equal(code, 100);
      for (const prefix of ["(head, rank=0) ", "(worker1, rank=1) "]) {
        const said = text.split("\n").filter((line) => line.startsWith(prefix));
        const wanted = Array.from({ length: 150 }, (_, index) => `${prefix}line ${index + 1}`);
        assert.deepEqual(said, wanted);
      }
    });
  await assertStayedUp(control);
  await cluster.down();
});

async function killAgent(nodeHome = ""): Promise<void> {
  const pid = findAgent(nodeHome) ?? assert.fail(`no agent serves ${nodeHome}`);
  process.kill(pid, "SIGKILL");
  await until(() => {
    const successor = findAgent(nodeHome);
    return successor !== undefined && successor !== pid ? true : undefined;
  });
}

/** It was never called anything but UP once it was. */
async function assertStayedUp({ client }: TestControl): Promise<void> {
  const input = { cluster_name: "demo", event_type: "STATUS_CHANGE" };
  const moves = await client.callAndGet(rows.clusterEvents, input);
  assert.deepEqual(moves, ["INIT → UP: every node runs"]);
}
