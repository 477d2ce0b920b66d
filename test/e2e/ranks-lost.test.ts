import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { kill, processesOf, startControl } from "../helpers/programs.ts";
import { aTask } from "./cluster.ts";
import { hookedCluster } from "./hooked.ts";

test("a worker that is gone is replaced alone, and the job that it was part of fails", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const two = hookedCluster(control, "two");
  const run = "touch ~/began; sleep 1000";
  const id = await two.launch(aTask(run, { num_nodes: 2 }));
  const [head, worker] = [await two.nodeHome(0), await two.nodeHome(1)];
  const hasBegun = (home: string) => existsSync(join(home, "began"));
  await until(() => (hasBegun(head) && hasBegun(worker)) || undefined);
  const followed = two.follow(id);

  const processes = processesOf(`HOME=${worker}\0`);
  renameSync(worker, join(control.home, "gone"));
  for (const { pid } of processes) kill(pid);
  assert.equal((await followed).code, 100);
  await two.untilStatus("UP");

  const { stderr } = await control.cli("logs", "two", String(id));
  assert.match(stderr, /Job 1 FAILED \(driver\) on two: rank 1: node 1 was lost/);
  const look = "test -e ~/began && echo old || echo new";
  const again = await two.exec(aTask(look, { num_nodes: 2 }));
  const { text } = await two.follow(again);
  assert.match(text, /rank=0\) old/);
  assert.match(text, /rank=1\) new/);
  await two.down();
});
