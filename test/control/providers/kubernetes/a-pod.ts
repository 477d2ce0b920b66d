import assert from "node:assert/strict";
import { offersOf } from "../../../../control/providers/kubernetes/nodes.ts";
import type { KubeNode, Pod } from "../../../../control/providers/kubernetes/objects.ts";
import type { ClusterRef, Offer } from "../../../../control/providers/provider.ts";

export const defaults = {
  controlId: "c",
  image: "debian",
  graceAtMost: 600,
  ports: "forward",
} as const;

export const aNode = (more: Partial<KubeNode["spec"]> = {}, gpus = 0): KubeNode => ({
  metadata: {
    name: "n",
    labels: gpus > 0 ? { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" } : {},
  },
  spec: more,
  status: {
    allocatable: {
      cpu: "3920m",
      memory: "15Gi",
      ...(gpus > 0 && { "nvidia.com/gpu": String(gpus) }),
    },
    conditions: [{ type: "Ready", status: "True" }],
  },
});

export const aCluster = (offer: Offer, more: Partial<ClusterRef> = {}): ClusterRef => ({
  ...{ id: "c1", name: "demo", nodes: 1, offer, machine: {}, ports: [], labels: {} },
  user: { id: "u1", name: "ann" },
  ...more,
});

export const offerOn = (node: KubeNode, need = {}): Offer => {
  const [offer] = offersOf("lab", [node], need);
  assert.ok(offer);
  return offer;
};

export const aPod = (status: Partial<Pod["status"]>): Pod => ({
  metadata: { name: "p" },
  spec: { containers: [] },
  status: { phase: "Pending", ...status },
});
