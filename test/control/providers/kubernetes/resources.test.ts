import assert from "node:assert/strict";
import { test } from "node:test";
import { acceleratorName, offersOf } from "../../../../control/providers/kubernetes/nodes.ts";
import { podOf } from "../../../../control/providers/kubernetes/pod.ts";
import type { ClusterRef } from "../../../../control/providers/provider.ts";
import { aCluster, aNode, defaults, offerOn } from "./a-pod.ts";

/** What stands in the pod of a cluster. */
const podFor = (more: Partial<ClusterRef>, nodes = [aNode()]) =>
  podOf(aCluster(offerOn(aNode()), more), 0, nodes, defaults) as {
    metadata: { labels: Record<string, string> };
    spec: {
      priorityClassName?: string;
      containers: [{ resources: { requests: object; limits?: object } }];
    };
  };

test("pods request what the task asks for, and have limits where the workspace sets them", () => {
  const resourcesWith = (set_pod_resource_limits?: boolean | number) =>
    podFor({ machine: { ephemeralStorageGb: 3, kubernetes: { set_pod_resource_limits } } }).spec
      .containers[0].resources;
  const requests = { cpu: "1", memory: String(2 ** 31), "ephemeral-storage": String(3 * 2 ** 30) };

  assert.deepEqual(resourcesWith(), { requests });
  assert.deepEqual(resourcesWith(false), { requests });
  assert.deepEqual(resourcesWith(true), { requests, limits: requests });
  assert.deepEqual(resourcesWith(1.5), {
    requests,
    limits: { cpu: "1.5", memory: String(3 * 2 ** 30), "ephemeral-storage": String(4.5 * 2 ** 30) },
  });
});

for (const [resource, key, value, name] of [
  ["amd.com/gpu", "amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM", "MI300X"],
  ["google.com/tpu", "cloud.google.com/gke-tpu-accelerator", "tpu-v5p-slice", "TPUV5P"],
] as const)
  test(`accelerators of ${resource} are offered as ${name}, and asked for in that resource`, () => {
    const node = aNode();
    Object.assign(node.metadata.labels ?? {}, { [key]: value });
    Object.assign(node.status.allocatable ?? {}, { [resource]: "4" });
    assert.equal(acceleratorName(value), name);
    const offer = offerOn(node, {
      accelerators: { name, count: 4 },
      cpus: { count: 1, orMore: true },
    });

    const { spec } = podFor({ offer }, [node]);

    assert.deepEqual(offer.accelerators, { name, count: 4 });
    assert.deepEqual(spec.containers[0].resources.limits, { [resource]: "4" });
    assert.match(
      JSON.stringify(spec),
      new RegExp(`"key":"${key}","operator":"In","values":\\["${value}`),
    );
  });

test("a task names the queue that has its pods, and their priority", () => {
  const kubernetes = { kueue: { local_queue_name: "mine" } };
  const { metadata, spec } = podFor({ machine: { kubernetes, priorityClass: "high" } });

  assert.equal(metadata.labels["kueue.x-k8s.io/queue-name"], "mine");
  assert.equal(spec.priorityClassName, "high");
  const plain = podFor({});
  assert.equal(plain.metadata.labels["kueue.x-k8s.io/queue-name"], undefined);
  assert.equal(plain.spec.priorityClassName, undefined);
});

test("pods on spot keep to nodes that their cloud may take back, and tolerate their taints", () => {
  const spot = aNode();
  const other = aNode({}, 4);
  Object.assign(spot.metadata.labels ?? {}, { "karpenter.sh/capacity-type": "spot" });
  assert.deepEqual(offersOf("lab", [other], { isSpot: true }), []);
  const offer = offerOn(spot, { isSpot: true });

  const { spec } = podOf(aCluster(offer), 0, [spot, other], defaults) as {
    spec: { affinity: object; tolerations: { key: string }[] };
  };

  assert.equal(offer.isSpot, true);
  assert.match(
    JSON.stringify(spec.affinity),
    /"nodeSelectorTerms":\[{"matchExpressions":\[{"key":"karpenter.sh\/capacity-type","operator":"In","values":\["spot"\]}\]}\]/,
  );
  assert.ok(spec.tolerations.some(({ key }) => key === "cloud.google.com/gke-spot"));
});
