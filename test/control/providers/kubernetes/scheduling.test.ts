import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import type { KubeNode, Pod, Taint } from "../../../../control/providers/kubernetes/objects.ts";
import { nameNodes } from "../../../../control/providers/kubernetes/scheduling.ts";

const signal = new AbortController().signal;

const nodeWith = (name: string, allocatable: Readonly<Record<string, string>>): KubeNode => ({
  ...{ metadata: { name }, spec: {}, status: { allocatable } },
});

const aPod = (more: Partial<Pod["spec"]> = {}): Pod => ({
  metadata: { name: "p" },
  spec: { containers: [], ...more },
  status: { phase: "Pending" },
});

function apiWith(nodes: readonly KubeNode[] | Error) {
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (nodes instanceof Error) throw nodes;
    return { metadata: {}, items: nodes };
  };
  return { api: { read } as unknown as KubeApi, reads: () => reads };
}

test("resources that are insufficient are told with the nodes that have them, the largest first", async () => {
  const gpus = (count: number) => ({ "nvidia.com/gpu": String(count), memory: "15Gi" });
  const nodes = [1, 4, 8, 2, 6, 3].map((count) => nodeWith(`n${count}`, gpus(count)));
  const { api } = apiWith([...nodes, nodeWith("plain", { cpu: "3920m", memory: "24677144Ki" })]);
  const said =
    "0/7 nodes are available: 2 Insufficient cpu, 7 Insufficient amd.com/gpu, 6 Insufficient nvidia.com/gpu.";

  assert.equal(
    await nameNodes(api, aPod(), said, signal),
    `${said} Nodes that have cpu: plain (3.92). No node that it may use has amd.com/gpu. Nodes that have nvidia.com/gpu: n8 (8), n6 (6), n4 (4), n3 (3), n2 (2), and 1 more.`,
  );
  assert.match(
    await nameNodes(api, aPod(), "1 Insufficient memory", signal),
    /Nodes that have memory: plain \(23\.5 GiB\), n1 \(15\.0 GiB\),/,
  );
});

test("taints are told with their nodes, but for those that the pod tolerates", async () => {
  const tainted = (name: string, ...taints: Taint[]): KubeNode => ({
    ...nodeWith(name, {}),
    spec: { taints },
  });
  const reserved = { key: "lab/reserved", value: "ann", effect: "NoSchedule" };
  const gpu = { key: "nvidia.com/gpu", value: "present", effect: "NoSchedule" };
  const { api } = apiWith([
    tainted("n1", gpu, reserved),
    tainted("n2", reserved, { key: "slow", effect: "PreferNoSchedule" }),
    tainted("n3", { key: "away", effect: "NoExecute" }),
  ]);
  const tolerations = [
    { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
    { key: "lab/reserved", value: "bob" },
    { key: "away", operator: "Exists", effect: "NoSchedule" },
  ];
  const said = "0/3 nodes are available: 3 node(s) had untolerated taint(s).";

  assert.equal(
    await nameNodes(api, aPod({ tolerations }), said, signal),
    `${said} Taint lab/reserved=ann:NoSchedule: n1, n2. Taint away:NoExecute: n3.`,
  );
  const all = [{ operator: "Exists" }];
  assert.equal(await nameNodes(api, aPod({ tolerations: all }), said, signal), said);
});

test("nodes that the pod may not use are left out: of other kinds, cordoned, tainted", async () => {
  const gpu = (name: string, kind: string, spec: KubeNode["spec"] = {}): KubeNode => ({
    ...{ metadata: { name, labels: { kind, zone: "z1" } }, spec },
    status: { allocatable: { "nvidia.com/gpu": "8" } },
  });
  const { api } = apiWith([
    ...[1, 2, 3, 4, 5, 6].map((at) => gpu(`a100-${at}`, "A100")),
    gpu("h100-1", "H100", { unschedulable: true }),
    gpu("h100-2", "H100", { taints: [{ key: "away", effect: "NoExecute" }] }),
    gpu("h100-3", "H100"),
  ]);
  const nodeSelectorTerms = ["H200", "H100"].map((kind) => ({
    matchExpressions: [{ key: "kind", operator: "In", values: [kind] }],
  }));
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  const affinity = { nodeAffinity: required };
  const said =
    "1 Insufficient nvidia.com/gpu, 6 node(s) didn't match Pod's node affinity/selector.";

  assert.equal(
    await nameNodes(api, aPod({ affinity, nodeSelector: { zone: "z1" } }), said, signal),
    `${said} Nodes that have nvidia.com/gpu: h100-3 (8).`,
  );
  assert.equal(
    await nameNodes(api, aPod({ affinity, nodeSelector: { zone: "z2" } }), said, signal),
    `${said} No node that it may use has nvidia.com/gpu.`,
  );
});

test("pods that wait share what is known of nodes, also that they cannot be read", async () => {
  const { api, reads } = apiWith([nodeWith("n1", { cpu: "2" })]);
  const refused = apiWith(new Error("forbidden"));
  const said = "0/1 nodes are available: 1 Insufficient cpu.";

  for (let pods = 0; pods < 3; pods += 1) {
    assert.equal(
      await nameNodes(api, aPod(), said, signal),
      `${said} Nodes that have cpu: n1 (2).`,
    );
    assert.equal(await nameNodes(refused.api, aPod(), said, signal), said);
  }
  assert.deepEqual([reads(), refused.reads()], [1, 1]);
});
