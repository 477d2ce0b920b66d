import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { startProcess, until } from "../helpers/agent.ts";
import { findAgent, processesOf, startControl, whyNeverIdle } from "../helpers/programs.ts";
import { aTask } from "./cluster.ts";
import { type HookedCluster, hookedCluster, withHooks } from "./hooked.ts";

test("a node that is idle while control is away ends by itself", {
  skip: whyNeverIdle(),
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const [stops, goes] = ["stops", "goes"].map((name) => hookedCluster(control, name));
  assert.ok(stops && goes);
  const begin = async (cluster: HookedCluster, down: boolean) => {
    const hooks = [
      cluster.hook("save", { does: "echo saved" }),
      cluster.hook("fails", { does: "exit 3" }),
    ];
    const task = withHooks(hooks, { run: cluster.gated });
    await cluster.launch(task, { idle_minutes_to_autostop: 0, down });
    return cluster.nodeHome();
  };
  const nodes = await Promise.all([begin(stops, false), begin(goes, true)]);
  await control.end("SIGKILL");
  await Promise.all(nodes.map(beImpatient));
  for (const cluster of [stops, goes]) cluster.open();
  await Promise.all([stops.untilRan("fails stop"), goes.untilRan("fails down")]);
  await until(() => nodes.every((node) => processesOf(node).length === 0) || undefined);

  assert.deepEqual(stops.ran(), ["save stop", "fails stop"]);
  assert.deepEqual(goes.ran(), ["save down", "fails down"]);
  for (const node of nodes)
    assert.deepEqual(JSON.parse(readFileSync(join(node, "node.json"), "utf8")), {
      state: "stopped",
    });

  await control.start();
  await stops.untilStatus("STOPPED");
  await goes.untilStatus(undefined);
  const because = "was idle and turned itself off while control was away";
  assert.ok((await stops.events()).includes(`UP → STOPPED: ${because}`));
  assert.ok((await goes.events()).includes(`UP → GONE: ${because}`));
  const lost = "; the output of its hooks is lost";
  assert.ok((await goes.events()).includes(`cluster goes ${because}${lost}`));

  const start = { cluster_name: "stops", idle_minutes_to_autostop: 60 };
  await control.client.callAndGet(rows.start, start);
  const told = /hook 1 of 2 \(stop\) succ.*\nhook 2 of 2 \(stop\) exited with 3/;
  await until(async () => told.test((await stops.events()).join("\n")) || undefined);
  const log = "saved\n[outrigger] hook 2 of 2 (stop) failed";
  await until(async () => (await stops.hookLog()).text.startsWith(log) || undefined);
  assert.deepEqual(stops.ran(), []);
});

test("a worker whose head ended by itself goes once control is back", {
  skip: whyNeverIdle(),
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const cluster = hookedCluster(control, "demo");
  const of = { cluster_name: "demo" };
  const task = aTask("true", { num_nodes: 2 });
  const first = await cluster.launch(task, { idle_minutes_to_autostop: 60 });
  await cluster.untilJob(first, "SUCCEEDED");
  const job = await cluster.exec(aTask(cluster.gated));
  await cluster.untilJob(job, "RUNNING");
  await control.client.callAndGet(rows.autostop, { ...of, idle_minutes: 0 });
  const [head, worker] = [await cluster.nodeHome(0), await cluster.nodeHome(1)];
  await control.end("SIGKILL");
  await beImpatient(head);
  cluster.open();
  await until(() => processesOf(head).length === 0 || undefined);
  assert.ok(findAgent(worker), "nobody is there to end the worker");

  await control.start();
  await cluster.untilStatus("STOPPED");

  assert.deepEqual(processesOf(worker), []);
  const because =
    "was idle: its head turned itself off while control was away, its other nodes stayed on";
  assert.ok((await cluster.events()).includes(`UP → STOPPED: ${because}`));
});

/** Replaces the agent of a node by one that does not wait for control. */
async function beImpatient(node: string): Promise<void> {
  const pid = findAgent(node) ?? assert.fail("no agent");
  const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean);
  const env = Object.fromEntries(variables.map((line) => line.split(/=(.*)/s)));
  process.kill(pid, "SIGKILL");
  await startProcess(node, { ...env, OUTRIGGER_SELF_STOP_AFTER_SECONDS: "0" });
}
