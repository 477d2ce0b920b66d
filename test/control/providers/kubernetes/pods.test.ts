import assert from "node:assert/strict";
import { test } from "node:test";
import { containerName } from "../../../../control/doors/kubernetes/exec.ts";
import { machinesOf } from "../../../../control/providers/kubernetes/machines.ts";
import { merge } from "../../../../control/providers/kubernetes/merge.ts";
import { acceleratorName, offersOf } from "../../../../control/providers/kubernetes/nodes.ts";
import { amountOf, type Pod } from "../../../../control/providers/kubernetes/objects.ts";
import { pendingOf } from "../../../../control/providers/kubernetes/pending.ts";
import { clusterAnnotation, graceOf, podOf } from "../../../../control/providers/kubernetes/pod.ts";
import { phaseOf, untilGoneOrLost } from "../../../../control/providers/kubernetes/pods.ts";
import type { PodWatch } from "../../../../control/providers/kubernetes/watch.ts";
import type { ClusterRef } from "../../../../control/providers/provider.ts";
import { aCluster, aNode, aPod, defaults, offerOn } from "./a-pod.ts";

test("quantities are read with each kind of suffix", () => {
  assert.deepEqual(
    ["2", "1930m", "1Ki", "1.5G", "1e3"].map((one) => amountOf(one)),
    [2, 1.93, 1024, 1.5e9, 1000],
  );
});

test("accelerators go by the names that the catalog has", () => {
  const given = [
    "NVIDIA-A100-SXM4-80GB",
    "nvidia-tesla-t4",
    "Tesla-V100-SXM2-16GB",
    "h100",
    "tpu-v5p-slice",
  ];
  assert.deepEqual(given.map(acceleratorName), ["A100-80GB", "T4", "V100", "H100", "TPUV5P"]);
});

test("a node that is cordoned, not ready or too small offers nothing", () => {
  assert.deepEqual(offersOf("lab", [aNode({ unschedulable: true })], {}), []);
  const down = { ...aNode(), status: { ...aNode().status, conditions: [] } };
  assert.deepEqual(offersOf("lab", [down], {}), []);
  assert.deepEqual(offersOf("lab", [aNode()], { cpus: { count: 4, orMore: true } }), []);
});

test("accelerators are offered by one, two and all of a node, and pods of that kind go to such nodes alone", () => {
  const offers = offersOf("lab", [aNode(), aNode({}, 4)], {
    accelerators: { name: "h100", count: 1 },
    cpus: { count: 1, orMore: true },
  });
  assert.deepEqual(
    offers.map(({ accelerators }) => accelerators?.count),
    [1, 2, 4],
  );
  const [offer] = offers;
  assert.ok(offer);
  const pod = podOf(aCluster(offer), 0, [aNode(), aNode({}, 4)], defaults) as {
    spec: {
      affinity: object;
      tolerations: object;
      containers: { resources: { limits: object } }[];
    };
  };
  assert.deepEqual(pod.spec.containers[0]?.resources.limits, { "nvidia.com/gpu": "1" });
  assert.deepEqual(pod.spec.tolerations, [{ key: "nvidia.com/gpu", operator: "Exists" }]);
  assert.match(
    JSON.stringify(pod.spec.affinity),
    /"nvidia.com\/gpu.product","operator":"In","values":\["NVIDIA-H100/,
  );
});

test("a task that asks for no accelerators is offered none, and a list of what there is has all", () => {
  const countsFor = (need: object) =>
    offersOf("lab", [aNode({}, 2)], need).map(({ accelerators }) => accelerators?.count ?? 0);
  assert.deepEqual(countsFor({ nodes: 1 }), [0]);
  assert.deepEqual(countsFor({ cpus: { count: 1, orMore: true } }), [0, 1, 2]);
  assert.deepEqual(
    countsFor({ nodes: 1, anyAccelerators: true, cpus: { count: 1, orMore: true } }),
    [0, 1, 2],
  );
});

test("what is free is what no pod asks for; nobody knows where pods may not be listed", () => {
  const pod = (nodeName: string): Pod => ({
    ...aPod({}),
    spec: {
      nodeName,
      containers: [
        { resources: { requests: { cpu: "500m", memory: "1Gi", "nvidia.com/gpu": "3" } } },
      ],
    },
  });
  const [node] = machinesOf([aNode({}, 8)], [pod("n"), pod("other")]);
  assert.deepEqual(
    [node?.free.accelerators_available, node?.cpu_free, node?.memory_free_gb],
    [5, 3.42, 14],
  );
  const [unknown] = machinesOf([aNode({}, 8)], undefined);
  assert.deepEqual([unknown?.free.accelerators_available, unknown?.cpu_free], [-1, null]);
});

test("a pod lives on for as long as its preemption hooks may take, within bounds", () => {
  const grace = (graceSeconds?: number) =>
    graceOf({ machine: graceSeconds === undefined ? {} : { graceSeconds } }, defaults);
  assert.deepEqual([grace(), grace(10), grace(90), grace(3_600)], [30, 30, 105, 600]);
});

test("what a task says of its pods is laid over ours", () => {
  const pod_config = {
    metadata: { labels: { team: "a" } },
    spec: {
      runtimeClassName: "nvidia",
      containers: [
        { env: [{ name: "A", value: "1" }], resources: { limits: { "x/y": 1 } } },
        { name: "side", image: "s" },
      ],
      imagePullSecrets: [{ name: "registry" }],
    },
  };
  const cluster = aCluster(offerOn(aNode()), { machine: { kubernetes: { pod_config } } });
  const { metadata, spec } = podOf(cluster, 0, [aNode()], defaults) as {
    metadata: { labels: Record<string, string> };
    spec: {
      runtimeClassName: string;
      containers: {
        name: string;
        env: { name: string }[];
        resources: { requests: object; limits: object };
      }[];
    };
  };
  assert.equal(metadata.labels["team"], "a");
  assert.equal(metadata.labels["outrigger/cluster-id"], "c1");
  assert.equal(spec.runtimeClassName, "nvidia");
  assert.deepEqual(
    spec.containers.map(({ name }) => name),
    ["node", "side"],
  );
  assert.deepEqual(spec.containers[0]?.env.at(-1), { name: "A", value: "1" });
  assert.deepEqual(spec.containers[0]?.resources.limits, { "x/y": 1 });
  assert.ok(Object.hasOwn(spec.containers[0]?.resources.requests ?? {}, "cpu"));
  assert.deepEqual(merge({ a: [1] }, { a: [2] }), { a: [1, 2] });
});

test("a pod mounts the claims of its task", () => {
  const cluster = aCluster(offerOn(aNode()), { machine: { claims: ["data"] } });
  const { spec } = podOf(cluster, 0, [aNode()], defaults) as {
    spec: { volumes: object[]; containers: { volumeMounts: object[] }[] };
  };

  assert.deepEqual(spec.volumes.at(-1), {
    name: "v0",
    persistentVolumeClaim: { claimName: "data" },
  });
  const mount = { name: "v0", mountPath: "/mnt/outrigger/data" };
  assert.deepEqual(spec.containers[0]?.volumeMounts.at(-1), mount);
});

test("a pod whose registry asks for a login waits for its secret", () => {
  const image = { kind: "container", name: "team/model:1" } as const;
  const cluster = aCluster(offerOn(aNode()), { machine: { image } });
  const login = { server: "registry.lab", user: "ann", password: "hunter2" };
  const all = { ...defaults, login };
  const { spec } = podOf(cluster, 0, [aNode()], all) as { spec: Record<string, object[]> };

  assert.deepEqual(spec["schedulingGates"], [{ name: "outrigger/prepared" }]);
  assert.deepEqual(spec["imagePullSecrets"], [{ name: "outrigger-c1" }]);
  assert.deepEqual(Object(spec["containers"]?.[0]).image, "registry.lab/team/model:1");
  assert.doesNotMatch(JSON.stringify(spec), /hunter2/);
});

test("a pod takes Node.js from the image that settings name, and says why it cannot", () => {
  const all = { ...defaults, runtimeImage: "control:1" };
  const { spec } = podOf(aCluster(offerOn(aNode())), 0, [aNode()], all) as {
    spec: Record<"containers" | "initContainers", { image: string; volumeMounts: object[] }[]>;
  };
  const [runtime] = spec.initContainers;
  assert.equal(runtime?.image, "control:1");
  assert.deepEqual(spec.containers[0]?.volumeMounts.at(-1), runtime?.volumeMounts[0]);

  const waits = (reason: string) => ({ name: "runtime", state: { waiting: { reason } } });
  const status = {
    initContainerStatuses: [waits("ErrImagePull")],
    containerStatuses: [waits("PodInitializing")],
  };
  assert.equal(pendingOf(aPod(status)).lacks, "pod");
});

test("a pod says what its cluster was made with, for a control plane that has lost its database", () => {
  const offer = offerOn(aNode());
  const machine = { graceSeconds: 20, kubernetes: { pod_config: { spec: { dnsPolicy: "None" } } } };

  const made = { ...machine, image: { kind: "container", name: "team/app:1" } as const };
  const login = { server: "registry.example", user: "ann", password: "hunter2" };
  const cluster = aCluster(offer, { machine: { ...made, sealedLogin: "c2VjcmV0" }, nodes: 2 });
  const pod = podOf(cluster, 0, [], { ...defaults, login }) as Pod;

  const told = JSON.parse(pod.metadata.annotations?.[clusterAnnotation] ?? "");
  const image = { ...made.image, name: "registry.example/team/app:1" };
  assert.deepEqual(told, { name: "demo", nodes: 2, offer, machine: { ...machine, image } });
});

test("a task cannot change what its pods are found by", () => {
  const offer = offerOn(aNode());
  const theirs = {
    name: "theirs",
    labels: { "outrigger/control": "x", "outrigger/cluster-id": "y" },
    annotations: { [clusterAnnotation]: "z" },
  };
  const kubernetes = {
    custom_metadata: theirs,
    pod_config: { metadata: theirs, spec: { restartPolicy: "Always" } },
  };

  const foundBy = (cluster: ClusterRef) => {
    const { metadata, spec } = podOf(cluster, 0, [], defaults) as Pod;
    const { [clusterAnnotation]: told = "", ...annotations } = metadata.annotations ?? {};
    const { machine: _machine, ...of } = JSON.parse(told);
    return { ...metadata, annotations, of, spec };
  };

  const given = aCluster(offer, { machine: { kubernetes } });
  assert.deepEqual(foundBy(given), foundBy(aCluster(offer)));
});

test("a pod has ended with our container, whatever else runs in it", () => {
  const ended = (exitCode: number) =>
    phaseOf({
      metadata: { name: "p" },
      spec: { containers: [] },
      status: {
        phase: "Running",
        containerStatuses: [
          { name: "mesh", state: {} },
          { name: containerName, state: { terminated: { exitCode } } },
        ],
      },
    });

  assert.deepEqual([ended(0), ended(137)], ["Succeeded", "Failed"]);
});

test("what a label cannot hold is an annotation", () => {
  const cluster = aCluster(offerOn(aNode()), { labels: { note: "a b", team: "x" } });
  const { metadata } = podOf(cluster, 0, [aNode()], defaults) as {
    metadata: Record<"labels" | "annotations", Record<string, string>>;
  };
  assert.equal(metadata.labels["team"], "x");
  assert.equal(metadata.labels["note"], undefined);
  assert.equal(metadata.annotations["note"], "a b");
});

test("a pod that its node cannot end is reported as lost before it is deleted", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  const deletionTimestamp = new Date().toISOString();
  const pod = { ...aPod({ phase: "Running" }), spec: { nodeName: "n1", containers: [] } };
  const leaving = { ...pod, metadata: { ...pod.metadata, deletionTimestamp } };
  const sent: string[] = [];
  const api = {
    ...{ context: "lab", namespace: "n", read: async () => undefined },
    send: async (method: string, path: string) => void sent.push(`${method} ${path}`),
  };
  async function* follow() {
    yield leaving;
    t.mock.timers.tick(21_000);
    yield sent.length > 0 ? undefined : leaving;
  }
  const pods = { api, follow } as unknown as PodWatch;

  await untilGoneOrLost(pods, leaving, t.signal);
  assert.deepEqual(sent, []);
  await untilGoneOrLost(pods, leaving, t.signal);

  assert.deepEqual(sent, ["DELETE /api/v1/namespaces/n/pods/p?gracePeriodSeconds=0"]);
});
