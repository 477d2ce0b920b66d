import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import { kubernetesProvider } from "../../../../control/providers/kubernetes/kubernetes.ts";
import type { ClusterRef } from "../../../../control/providers/provider.ts";

const signal = new AbortController().signal;

function providerOf(
  names: () => Promise<string[]>,
  read: (context: string, path: string) => Promise<unknown>,
  more: { watch?: () => object; wake?: (clusterId: string) => void } = {},
) {
  const api = async (context: string) =>
    ({
      ...{ context, namespace: "n" },
      read: (path: string) => read(context, path),
      watch: () => [new Promise(() => {})],
      ...more,
    }) as unknown as KubeApi;
  const ways = { clusters: { names, api, close: async () => {} }, controlId: "c", image: "i" };
  const limits = { graceAtMost: 600, provisionMs: 0 };
  return kubernetesProvider({ ...ways, ...limits, ...more } as never, pino({ level: "silent" }));
}

test("a context that does not answer hides no pods of others, and a broken kubeconfig no other cloud", async () => {
  const pod = {
    metadata: { name: "p", labels: { "outrigger/node-id": "c1-0" } },
    status: { phase: "Running" },
  };
  const silent = async (context: string) => {
    if (context === "away") throw new Error("no answer");
    return { metadata: {}, items: [pod] };
  };
  const found = await providerOf(async () => ["away", "near"], silent).find?.(signal);
  assert.deepEqual(
    found?.map(({ id, state }) => [id, state]),
    [["c1-0", "running"]],
  );

  const broken = providerOf(() => Promise.reject(new Error("not YAML")), silent);
  assert.deepEqual(await broken.places?.(), ["kubernetes"]);
});

test("a context is asked for offers only where the task may go there", async () => {
  const asked: string[] = [];
  const provider = providerOf(
    async () => ["a", "b"],
    async (context) => {
      asked.push(context);
      return { metadata: {}, items: [] };
    },
  );
  await provider.offers({ infra: "kubernetes/b" }, signal);
  await provider.offers({ infra: "local" }, signal);
  assert.deepEqual(asked, ["b"]);
});

test("the notice of pods that are there is the least that one was made with", async () => {
  const pod = (id: string, terminationGracePeriodSeconds: number) => ({
    metadata: {
      name: `${id}-${terminationGracePeriodSeconds}`,
      labels: { "outrigger/cluster-id": id },
    },
    spec: { terminationGracePeriodSeconds, containers: [] },
    status: { phase: "Running" },
  });
  const items = [pod("c1", 105), pod("c1", 30), pod("c2", 10)];
  const provider = providerOf(
    async () => ["a"],
    async () => ({ metadata: {}, items }),
  );
  const noticeOf = (id: string) =>
    provider.noticeOf?.({ id, offer: { region: "a" } } as ClusterRef);

  assert.deepEqual([await noticeOf("c1"), await noticeOf("c3")], [30, undefined]);
});

test("whether nodes are on spot is looked for when it is asked, and not again for a while", async (t) => {
  t.mock.timers.enable({ apis: ["Date"] });
  let [labels, calls]: [object, number] = [{ "cloud.google.com/gke-spot": "true" }, 0];
  const provider = providerOf(
    async () => ["a", "away"],
    async (context) => {
      calls += 1;
      if (context === "away") throw new Error("no answer");
      return { items: [{ metadata: { name: "n", labels }, spec: {}, status: {} }] };
    },
  );
  t.mock.timers.setTime(1_000_000);

  assert.deepEqual(
    [await provider.hasSpot?.(), await provider.hasSpot?.(), calls],
    [true, true, 2],
  );
  labels = {};
  t.mock.timers.tick(61_000);
  assert.equal(await provider.hasSpot?.(), true, "the context that is away may still have some");
});

test("a pod that Kubernetes ended is lost, whatever it exits with; one that ends by itself is off", async () => {
  const ended = (rank: number, more: object, status: object = { phase: "Succeeded" }) => ({
    metadata: {
      name: `p${rank}`,
      labels: { "outrigger/cluster-id": "c1", "outrigger/rank": rank },
      ...more,
    },
    spec: { nodeName: "n1" },
    status: {
      containerStatuses: [{ name: "node", state: { terminated: { exitCode: 0 } } }],
      ...status,
    },
  });
  const failed = (reason?: string, message?: string) => ({ phase: "Failed", reason, message });
  const deletionTimestamp = new Date().toISOString();
  const items = [
    ended(0, { deletionTimestamp }),
    ended(1, {}),
    ended(2, {}, failed("Evicted", "The node was low on resource: memory.")),
    ended(3, {}, failed("Terminated", "Pod was terminated in response to imminent node shutdown.")),
    ended(4, {}, failed("NodeShutdown")),
    // Another container of the pod failed.
    ended(5, {}, failed()),
  ];
  const read = async () => ({ metadata: {}, items });
  const cluster = { id: "c1", offer: { region: "lab" } } as ClusterRef;

  const nodes = await providerOf(async () => ["lab"], read).list(cluster, signal);

  assert.deepEqual(
    nodes.map(({ state, gone }) => gone ?? state),
    [
      "its pod was deleted",
      "stopped",
      "The node was low on resource: memory.",
      "Pod was terminated in response to imminent node shutdown.",
      "NodeShutdown",
      "stopped",
    ],
  );
});

test("a cluster is looked at as soon as a pod of it is pending no longer", async () => {
  const podIn = (phase: string, version: number) => ({
    metadata: {
      ...{ name: "outrigger-c1-0", uid: "u", resourceVersion: String(version) },
      labels: { "outrigger/cluster-id": "c1", "outrigger/node-id": "c1-0", "outrigger/rank": "0" },
    },
    spec: {},
    status: { phase },
  });
  const [begins, woken] = [Promise.withResolvers<object>(), Promise.withResolvers<string>()];
  const read = async (_: string, path: string) =>
    path.includes("/events")
      ? { items: [{ type: "Warning", reason: "FailedMount", message: "no disk yet" }] }
      : { metadata: { resourceVersion: "1" }, items: [podIn("Pending", 1)] };
  let wakes = 0;
  const provider = providerOf(async () => ["lab"], read, {
    watch: () => [begins.promise, new Promise(() => {})],
    wake(clusterId) {
      wakes += 1;
      woken.resolve(clusterId);
    },
  });
  const cluster = { id: "c1", machine: {}, offer: { region: "lab" } } as ClusterRef;
  const states = async () => (await provider.list(cluster, signal)).map(({ state }) => state);
  assert.deepEqual([await states(), await states()], [["pending"], ["pending"]]);

  begins.resolve({ type: "MODIFIED", object: podIn("Running", 2) });

  assert.equal(await woken.promise, "c1");
  assert.deepEqual([await states(), wakes], [["running"], 1]);
});

for (const phase of ["Running", "Succeeded"])
  test(`a pod that is taken away before its agent is brought back is not made anew: ${phase}`, async () => {
    const metadata = { name: "outrigger-c1-0", deletionTimestamp: new Date().toISOString() };
    const leaving = { metadata, spec: {}, status: { phase } };
    // Sending anything would throw.
    const read = async (_: string, path: string) =>
      path.endsWith(metadata.name) ? leaving : { metadata: {}, items: [] };
    const cluster = { id: "c1", machine: {}, offer: { region: "lab" } } as ClusterRef;

    await providerOf(async () => ["lab"], read).create(cluster, 0, signal);
  });

test("a pod that was to end is lost once its node is not ready, and not before that is known", async () => {
  const minutesAgo = (count: number) => new Date(Date.now() - count * 60_000).toISOString();
  const aPod = (rank: number, more: object, phase = "Running") => ({
    metadata: {
      name: `p${rank}`,
      labels: {
        ...{ "outrigger/node-id": `c1-${rank}`, "outrigger/rank": rank },
        "outrigger/cluster-id": "c1",
      },
      ...more,
    },
    spec: { nodeName: "n1" },
    status: { phase, reason: "Evicted" },
  });
  const items = [
    aPod(0, {}),
    aPod(1, { deletionTimestamp: minutesAgo(0) }),
    aPod(2, { deletionTimestamp: minutesAgo(1) }),
    aPod(3, {}, "Failed"),
  ];
  const goneOn = async (node: () => object | undefined) => {
    const read = async (_: string, path: string) =>
      path.includes("/nodes/") ? node() : { metadata: {}, items };
    const cluster = { id: "c1", offer: { region: "lab" } } as ClusterRef;
    const nodes = await providerOf(async () => ["lab"], read).list(cluster, signal);
    return nodes.map(({ state, gone }) => gone ?? state);
  };
  const nodeIs = (status: string) => () => ({
    status: { conditions: [{ type: "Ready", status }] },
  });
  const lost = (is: string) => `it was on node n1 of Kubernetes context lab, which is ${is}`;
  const on = "running";

  assert.deepEqual(await goneOn(nodeIs("True")), [on, on, on, "Evicted"]);
  assert.deepEqual(await goneOn(nodeIs("Unknown")), [on, on, lost("not ready"), "Evicted"]);
  assert.deepEqual(await goneOn(() => undefined), [on, on, lost("gone"), "Evicted"]);
  await assert.rejects(
    goneOn(() => {
      throw new Error("no answer");
    }),
    /no answer/,
  );
});
