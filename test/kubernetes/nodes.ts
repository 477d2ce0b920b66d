import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { openKubeApi } from "../../control/doors/kubernetes/api.ts";
import { readContexts } from "../../control/doors/kubernetes/kubeconfig.ts";
import { until } from "../helpers/agent.ts";
import { type Lab, whyNoLab } from "../helpers/kubernetes.ts";
import type { TestControl } from "../helpers/programs.ts";
import { startKubeControl } from "./lab.ts";

/** Nodes of one kind of accelerators. */
interface Kind {
  readonly name: string;
  readonly label: Readonly<Record<string, string>>;
  readonly resource: string;
  readonly each: number;
  readonly nodes: number;
}

const kinds: readonly Kind[] = [
  {
    ...{ name: "H100", resource: "nvidia.com/gpu", each: 8, nodes: 60 },
    label: { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" },
  },
  {
    ...{ name: "MI300X", resource: "amd.com/gpu", each: 8, nodes: 30 },
    label: { "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM" },
  },
  {
    ...{ name: "TPUV4", resource: "google.com/tpu", each: 4, nodes: 10 },
    label: { "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice" },
  },
];

const renewMs = 4_000;
/** Each call, on a busy machine; the time itself is a diagnostic. */
const quickMs = 15_000;

test("100 nodes are told quickly, and what pods take of three kinds of accelerators", {
  skip: whyNoLab(),
  timeout: 180_000,
}, async (t) => {
  const { control, kubeconfig, kubectl } = await startKubeControl(t);
  await addNodes(t, kubeconfig);
  const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const since = performance.now();
    const result = await work();
    const ms = performance.now() - since;
    t.diagnostic(`${what}: ${Math.round(ms)} ms`);
    assert.ok(ms < quickMs);
    return result;
  };

  const [[context, there] = []] = await timed("availability", () =>
    control.client.callAndGet(rows.kubernetesGpuAvailability, {}),
  );
  assert.equal(context, "lab");
  assert.deepEqual(
    there?.map(([name, , total, free]) => [name, total, free]),
    kinds.map(({ name, each, nodes }) => [name, each * nodes, each * nodes - each]),
  );

  const { node_info_dict: nodes } = await timed("nodes", () =>
    control.client.callAndGet(rows.kubernetesNodeInfo, {}),
  );
  assert.equal(Object.keys(nodes).length, 101);
  assert.ok(Object.values(nodes).every((node) => node.is_ready));
  const some = ["fake-mi300x-0", "fake-mi300x-1"];
  const free = some.map((name) => nodes[name]?.free.accelerators_available);
  assert.deepEqual(free, [0, 8]);

  const { stdout } = await timed("outrigger gpus", () => control.cli("gpus"));
  assert.match(stdout, /^kubernetes\/lab +H100 +480 +472 /m);

  try {
    for (const kind of kinds) await assertPlaced(control, kubectl, kind);
    // No kubelet begins them, so that all of their node are taken.
    const tooMany = gpuTask("TPUV4:4", { num_nodes: 10 });
    await control.client.call(clusters.launch, { cluster_name: "too-many", task: tooMany });
    // The nodes are read once a minute, and had taints at first.
    const told =
      /pending: [^;]*Insufficient google.com\/tpu[^;]* Nodes that have google.com\/tpu: (fake-tpuv4-\d \(4\), ){5}and 5 more\b/;
    await until(async () => {
      const of = { cluster_names: ["too-many"] };
      const [record] = await control.client.callAndGet(clusters.status, of);
      return told.test(record?.init_status_reason ?? "") || undefined;
    });
  } finally {
    // What it launches waits for nodes that never answer.
    await control.end("SIGKILL");
    await kubectl("delete", "pods", "--all", "--force", "--grace-period=0");
  }
});

const gpuTask = (accelerators: string, more: object = {}): string =>
  JSON.stringify({
    ...{ run: "true", resources: { infra: "k8s", accelerators, cpus: 1, memory: 1 } },
    ...{ config: { kubernetes: { provision_timeout: -1 } }, ...more },
  });

/** Launches a pod that takes all accelerators of a node, and checks where it goes and what it asks for. */
async function assertPlaced(
  { client }: TestControl,
  kubectl: Lab["kubectl"],
  { name, resource, each }: Kind,
): Promise<void> {
  const cluster = `on-${name.toLowerCase()}`;
  const task = gpuTask(`${name}:${each}`);
  await client.call(clusters.launch, { cluster_name: cluster, task });
  const spec = await until(async () => {
    const words = [`--selector=outrigger/cluster=${cluster}`, "--output=json"];
    const { items } = JSON.parse(await kubectl("get", "pods", ...words));
    return items[0]?.spec.nodeName === undefined ? undefined : items[0].spec;
  });
  assert.match(spec.nodeName, new RegExp(`^fake-${name.toLowerCase()}-`));
  const { limits, requests } = spec.containers[0].resources;
  assert.deepEqual([limits[resource], requests[resource]], [String(each), String(each)]);
}

const nameOf = ({ name }: Kind, at: number): string => `fake-${name.toLowerCase()}-${at}`;

/** Nodes without a kubelet that are kept ready until the test is over; of each kind, a pod takes all of the first. */
async function addNodes(t: TestContext, kubeconfig: string): Promise<void> {
  const [context] = (await readContexts(kubeconfig)).all;
  if (context === undefined) throw new Error("the kubeconfig has no context");
  const api = openKubeApi(context);
  const ending = new AbortController();
  const { signal } = new AbortController();
  const all = kinds.flatMap((kind) =>
    Array.from({ length: kind.nodes }, (_, at) => ({ kind, name: nameOf(kind, at) })),
  );
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  const pods = "/api/v1/namespaces/default/pods";
  const each = (work: (one: (typeof all)[number]) => Promise<unknown>) =>
    Promise.all(all.map(work));
  t.after(async () => {
    ending.abort();
    for (const kind of kinds)
      await api.send(
        "DELETE",
        `${pods}/${nameOf(kind, 0)}?gracePeriodSeconds=0`,
        undefined,
        signal,
      );
    await each(({ name }) => api.send("DELETE", `/api/v1/nodes/${name}`, undefined, signal));
    await each(({ name }) => api.send("DELETE", `${leases}/${name}`, undefined, signal));
    await api.close();
  });
  const renewTime = () => new Date().toISOString().replace("Z", "000Z");
  await each(({ name, kind }) => api.send("POST", "/api/v1/nodes", nodeOf(name, kind), signal));
  await each(({ name }) => {
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: renewTime() };
    return api.send("POST", leases, { metadata: { name }, spec }, signal);
  });
  for (const kind of kinds) await api.send("POST", pods, podOn(kind), signal);
  const renew = async () => {
    const spec = { renewTime: renewTime() };
    try {
      await each(({ name }) => api.send("PATCH", `${leases}/${name}`, { spec }, ending.signal));
    } catch (error) {
      if (!ending.signal.aborted) t.diagnostic(`leases not renewed: ${error}`);
    }
    if (!ending.signal.aborted) setTimeout(renew, renewMs).unref();
  };
  void renew();
}

function nodeOf(name: string, { resource, each, label: labels }: Kind) {
  const amounts = { cpu: "96", memory: "1000Gi", pods: "110", [resource]: String(each) };
  return {
    metadata: { name, labels },
    status: {
      ...{ capacity: amounts, allocatable: amounts },
      conditions: [{ type: "Ready", status: "True", reason: "Test" }],
    },
  };
}

/** Past the scheduler, as pods of a DaemonSet once were. */
function podOn(kind: Kind) {
  const limits = { [kind.resource]: String(kind.each) };
  const container = { name: "all", image: "any", resources: { limits, requests: limits } };
  return {
    metadata: { name: nameOf(kind, 0) },
    spec: {
      ...{ nodeName: nameOf(kind, 0), containers: [container] },
      tolerations: [{ operator: "Exists" }],
    },
  };
}
