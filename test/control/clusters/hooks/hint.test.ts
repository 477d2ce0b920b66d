import assert from "node:assert/strict";
import { test } from "node:test";
import { openHookHints } from "../../../../control/clusters/hooks/hint.ts";
import { putLifecycle } from "../../../../control/clusters/lifecycles/store.ts";
import { addCluster } from "../../../../control/clusters/store.ts";
import { aCluster, aLifecycle } from "../../../helpers/clusters.ts";
import { aRun } from "../../../helpers/lifecycles.ts";
import { testWorld } from "../../../helpers/world.ts";
import { writable } from "../../../helpers/writable.ts";

test("hooks that run on several nodes are each told of once, also while the first goes on", async (t) => {
  const { ctx } = await testWorld(t);
  const cluster = aCluster({ nodes: 2 });
  await addCluster(writable(ctx), cluster);
  for (const [rank, event] of (["stop", "preemption"] as const).entries()) {
    const runs = [aRun({ event, status: "RUNNING" })];
    const of = { id: event, clusterId: cluster.id, rank, events: [event], hooks: 1, runs };
    await putLifecycle(writable(ctx), aLifecycle(of));
  }
  const hint = openHookHints(ctx);

  const told = [await hint(cluster), await hint(cluster), await hint(cluster)];

  const [preemption = "", stop = "", nothing] = told;
  assert.match(preemption, /^hook 1 of 1 \(preemption\) runs/);
  assert.match(stop, /^hook 1 of 1 \(stop\) runs/);
  assert.equal(nothing, "");
});
