import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesOperations as rows } from "../../contract/operations/kubernetes.ts";
import { testWorld } from "../helpers/world.ts";

test("without a kubeconfig, Kubernetes has no status, and labels are refused in the answer", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(world.run(rows.statusKubernetes, {}), { type: "ValueError" });
  const { success, message } = await world.run(rows.kubernetesLabelGpus, {});
  assert.equal(success, false);
  assert.match(message ?? "", /no context of .* may be used/);
});
