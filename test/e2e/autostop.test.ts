import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { until } from "../helpers/agent.ts";
import { listNodeHomes, processesOf, startControl, whyNeverIdle } from "../helpers/programs.ts";
import { aTask, clusterOf } from "./cluster.ts";

const options = { skip: whyNeverIdle(), timeout: 300_000, concurrency: true };

test("clusters that are idle", options, async (t) => {
  const control = await startControl(t);
  const { client, home } = control;
  const gate = (name: string) => join(home, `${name}.gate`);
  const gated = (name: string) => `until [ -e ${gate(name)} ]; do sleep 0.05; done`;
  /** A job that ends once somebody reads what it says: its end leaves little time to begin with that. */
  const saysTo = (name: string, word: string) => ({
    task: aTask(`echo ${word}; ${gated(name)}`),
    begins: () => writeFileSync(gate(name), ""),
  });
  const set = (name: string, more: { down?: boolean } = {}) =>
    client.callAndGet(rows.autostop, { cluster_name: name, idle_minutes: 0, ...more });

  const cases = [
    t.test("stop by themselves, and stay up when they are started again", async () => {
      const cluster = clusterOf(control, "stops");
      const id = await cluster.launch(aTask(gated("stops")), { idle_minutes_to_autostop: 0 });
      assert.equal(await cluster.status(), "UP");
      writeFileSync(gate("stops"), "");
      await cluster.untilStatus("STOPPED");
      await cluster.start();
      assert.equal(await cluster.jobStatus(id), "SUCCEEDED");
      const events = { cluster_name: "stops", event_type: "STATUS_CHANGE" };
      const moves = await client.callAndGet(rows.clusterEvents, events);
      assert.deepEqual(moves, [
        "INIT → UP: every node runs",
        "UP → AUTOSTOPPING: idle",
        "AUTOSTOPPING → STOPPED: idle",
        "STOPPED → INIT: start by ana",
        "INIT → UP: every node runs",
      ]);
      // The timer starts again with the cluster, and leaves time to read the end of a job's log.
      const { task, begins } = saysTo("again", "again");
      const next = await cluster.exec(task);
      assert.deepEqual(await cluster.follow(next, {}, begins), { code: 0, text: "again\n" });
      await cluster.down();
    }),
    t.test("are removed where that was asked", async () => {
      const cluster = clusterOf(control, "removed");
      await cluster.launch(aTask(gated("removed")));
      await set("removed", { down: true });
      const { task, begins } = saysTo("last", "last");
      const queued = await cluster.exec(task);
      const last = cluster.follow(queued, {}, begins);
      writeFileSync(gate("removed"), "");
      assert.deepEqual(await last, { code: 0, text: "last\n" });
      await cluster.untilStatus(undefined);
    }),
  ];
  await Promise.all(cases);

  await t.test("stop although control was away when the time came", async () => {
    const cluster = clusterOf(control, "unseen");
    await cluster.launch(aTask(gated("unseen")), { idle_minutes_to_autostop: 0, down: true });
    await control.end("SIGKILL");
    writeFileSync(gate("unseen"), "");
    await until(() => processesOf(gate("unseen")).length === 0 || undefined);
    await control.start();
    await cluster.untilStatus(undefined);
  });
  assert.deepEqual(listNodeHomes(home), []);
});
