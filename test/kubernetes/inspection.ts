import assert from "node:assert/strict";
import { test } from "node:test";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { addGpus, aPodTask, gpuResources, startKubeControl } from "./lab.ts";

test("what a context has is told, and what of it is free", {
  skip: whyNoLab(),
  timeout: 120_000,
}, async (t) => {
  const lab = await startKubeControl(t);
  const { client, cli } = lab.control;
  await addGpus(t, lab);
  const demo = clusterOf(lab.control, "demo");
  const free = () => client.callAndGet(rows.kubernetesGpuAvailability, {});
  const node = async () =>
    (await client.callAndGet(rows.kubernetesNodeInfo, {})).node_info_dict["lab1"];
  assert.deepEqual(await client.callAndGet(rows.allContexts, {}), ["lab"]);
  assert.deepEqual(await free(), [["lab", [["H100", [1, 2, 4, 8], 8, 8]]]]);
  const before = await node();

  const resources = { ...gpuResources, accelerators: "H100:2" };
  await demo.launch(aPodTask("sleep 3600", { resources }));

  assert.deepEqual(await free(), [["lab", [["H100", [1, 2, 4, 8], 8, 6]]]]);
  const after = await node();
  assert.equal(after?.free.accelerators_available, 6);
  assert.equal((before?.cpu_free ?? 0) - (after?.cpu_free ?? 0), 0.5);
  assert.equal(after?.is_ready, true);
  assert.match((await cli("check")).stdout, /kubernetes: kubernetes\/lab \(1 CPU, 2 GB\)/);
  const shown = (await cli("gpus")).stdout;
  assert.match(shown, /^kubernetes\/lab +H100 +8 +6 +demo \(\w+\): 2$/m);
  await demo.down();
});
