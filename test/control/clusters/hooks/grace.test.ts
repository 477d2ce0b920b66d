import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { graceOf } from "../../../../control/providers/kubernetes/pod.ts";
import { testWorld } from "../../../helpers/world.ts";
import { name } from "../hooked-cluster.ts";

test("hooks of a later launch have their time on nodes that are made from then on, and those that are there are warned of", async (t) => {
  const world = await testWorld(t, { noticeSeconds: 600 });
  const hook = (timeout: number) => `{ run: flee, events: [preemption], timeout: ${timeout} }`;
  const launch = async (hooks: string) => {
    const task = `run: echo hi\nconfig: { hooks: [${hooks}] }`;
    const id = await world.call(rows.launch, { ...name, task });
    await world.get(rows.launch, id);
    const { machine } = await world.cluster(name.cluster_name);
    return [
      // The pod has so long, with what fetching the logs takes.
      graceOf({ machine }, { graceAtMost: 600 }),
      /hooks may take \d+ s .* \d+ s/.exec(await world.printed(id))?.[0],
    ];
  };
  Object.assign(world.provider, { noticeOf: async () => 30 });

  assert.deepEqual(await launch(hook(20)), [35, undefined]);
  const warning = "hooks may take 90 s in total, but fake takes a node away 30 s";
  assert.deepEqual(await launch(`${hook(20)}, ${hook(70)}`), [105, warning]);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  assert.equal((await world.cluster(name.cluster_name)).machine.graceSeconds, 90);
  assert.deepEqual(await launch(""), [30, undefined]);
});
