import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { listNodeHomes, processesOf, startControl } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

test("control is killed in the middle of a launch", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const { home, client } = control;

  /** Launches, kills control at a moment, and looks at what came of the launch after a restart. */
  async function launchKilledAt(name: string, moment: () => boolean) {
    const ran = join(home, `${name}.ran`);
    const input = { cluster_name: name, task: aTask(`echo ran >> ${ran}; echo done`) };
    const id = await client.call(rows.launch, input);
    await until(() => moment() || undefined);
    await control.end("SIGKILL");
    await control.start();
    const { job_id: jobId } = await client.get(id);
    assert.equal(jobId, 1);
    const cluster = clusterOf(control, name);
    assert.deepEqual(await cluster.follow(jobId), { code: 0, text: "done\n" });
    assert.equal(readFileSync(ran, "utf8"), "ran\n");
    assert.equal((await cluster.queue()).length, 1);
  }
  const newNode = (file: string) => {
    const before = listNodeHomes(home);
    return () =>
      listNodeHomes(home).some((node) => !before.includes(node) && existsSync(join(node, file)));
  };

  await t.test("once the request is stored", () => launchKilledAt("stored", () => true));
  await t.test("once the node is created", () => launchKilledAt("created", newNode("node.json")));
  await t.test("once the job is submitted", () =>
    launchKilledAt("submitted", newNode(".outrigger/jobs/1")),
  );
  assert.equal(listNodeHomes(home).length, 3);
});

test("control is killed while nodes go", { timeout: 30_000 }, async (t) => {
  const control = await startControl(t);
  const cluster = clusterOf(control, "demo");
  const { home, client } = control;
  const asked = join(home, "asked");
  const slow = `trap "touch ${asked}; sleep 1" TERM; touch ~/kept; sleep 987 & wait; wait`;

  async function killDuring(name: "stop" | "down") {
    const id = await client.call(rows[name], { cluster_name: "demo" });
    await until(() => existsSync(asked) || undefined);
    await control.end("SIGKILL");
    await control.start();
    assert.equal(await client.get(id), null);
    assert.deepEqual(
      processesOf(home).map(({ pid }) => pid),
      [control.pid],
    );
  }

  await t.test("on their way off", async () => {
    await cluster.untilJob(await cluster.launch(aTask(slow)), "RUNNING");
    await killDuring("stop");
    assert.equal(await cluster.status(), "STOPPED");
    assert.ok(existsSync(join(listNodeHomes(home)[0] ?? "", "kept")));
  });
  await t.test("on their way to be deleted", async () => {
    await cluster.untilJob(await cluster.launch(aTask(`rm ${asked}; ${slow}`)), "RUNNING");
    await until(() => !existsSync(asked) || undefined);
    await killDuring("down");
    assert.equal(await cluster.status(), undefined);
    assert.deepEqual(listNodeHomes(home), []);
  });
});
