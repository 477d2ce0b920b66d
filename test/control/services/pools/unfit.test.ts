import assert from "node:assert/strict";
import { test } from "node:test";
import { aPool, withPool } from "./bed.ts";

test("a job that no worker of its pool can take says so until one can", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit("resources: {cpus: 8}\nrun: big");
  const { waitsFor } = await bed.until(1, (task) => /no present one can/.test(task.waitsFor ?? ""));
  assert.match(waitsFor ?? "", /^waits for a worker of pool warm that can take it: .*8/);
  const { json } = await bed.world.http("GET", "/explain?name=1");
  assert.match(JSON.stringify(json), /no present one can/);
  const { provider } = bed.world;
  if (provider.offer !== undefined) provider.offer = { ...provider.offer, cpus: 8 };
  await bed.apply({ task: aPool("workers: 1", "resources: {cpus: 8}") });
  await bed.untilWorker(2, "STARTING");
  await bed.setUp(2);

  await bed.untilTask(1, "RUNNING");
  assert.equal((await bed.remarks(1)).filter((reason) => reason === waitsFor).length, 1);
});
