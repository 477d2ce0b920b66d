import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../../../control/config.ts";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import type { PodDefaults } from "../../../../control/providers/kubernetes/pod.ts";
import { findOutside } from "../../../../control/providers/kubernetes/ports.ts";
import { ensureShared } from "../../../../control/providers/kubernetes/shared.ts";
import type { ClusterRef } from "../../../../control/providers/provider.ts";

const { signal } = new AbortController();
const root = "/apis/networking.k8s.io/v1/namespaces/n/ingresses";

type Made = ReturnType<typeof JSON.parse>;

/** A namespace that has no objects yet. */
function aNamespace() {
  const objects = new Map<string, Made>();
  const api = {
    namespace: "n",
    read: async (path: string) => objects.get(path),
    async send(_method: string, path: string, body: Made) {
      objects.set(`${path}/${body.metadata.name}`, body);
      return body;
    },
  } as unknown as KubeApi;
  return { api, objects };
}

/** The namespace of a cluster with ports, whose pod has been made. */
async function afterLaunch(more: Partial<PodDefaults>, madeFor: ClusterRef["madeFor"] = null) {
  const defaults = { controlId: "c", image: "i", graceAtMost: 600, ports: "forward", ...more };
  const cluster = {
    ...{ id: "c1", name: "My_Demo", nodes: 2, machine: {}, labels: {}, madeFor },
    ...{ ports: ["8080", "9000-9001"], user: { id: "u1", name: "ann" } },
  } as unknown as ClusterRef;
  const { api, objects } = aNamespace();
  const pod = { metadata: { name: "p", uid: "u" }, spec: { containers: [] }, status: {} };
  await ensureShared(api, cluster, pod as never, defaults, signal);
  const find = (port: number, ports = defaults.ports) =>
    findOutside(api, ports, "c1", port, signal);
  return { objects, find };
}

test("an Ingress has a host for each port of the head, and goes with the pods", async () => {
  const ports = "http://*.apps.lab:30080";
  const { objects, find } = await afterLaunch({ ports, ingressClass: "nginx" });

  const { metadata, spec } = objects.get(`${root}/outrigger-c1-ports`) ?? {};
  assert.deepEqual(metadata.ownerReferences, [
    { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" },
  ]);
  assert.equal(metadata.labels["outrigger/cluster-id"], "c1");
  assert.deepEqual([spec.ingressClassName, spec.tls], ["nginx", undefined]);
  assert.deepEqual(
    spec.rules.map((rule: Made) => rule.host),
    ["c1-8080.apps.lab", "c1-9000.apps.lab", "c1-9001.apps.lab"],
  );
  const [{ path, backend }] = spec.rules[0].http.paths;
  const { name } = backend.service;
  assert.deepEqual([path, backend.service.port], ["/", { number: 8080 }]);
  const service = objects.get(`/api/v1/namespaces/n/services/${name}`)?.spec;
  assert.deepEqual([service.type, service.selector["outrigger/rank"]], ["ClusterIP", "0"]);
  assert.equal(await find(9000), "http://c1-9000.apps.lab:30080");
});

test("an Ingress with HTTPS takes the certificate and the class of its controller", async () => {
  const { objects, find } = await afterLaunch({ ports: "https://*.example.com" });

  const { spec } = objects.get(`${root}/outrigger-c1-ports`) ?? {};
  assert.deepEqual(spec.tls, [
    { hosts: ["c1-8080.example.com", "c1-9000.example.com", "c1-9001.example.com"] },
  ]);
  assert.equal(Object.hasOwn(spec, "ingressClassName"), false);
  assert.equal(await find(8080), "https://c1-8080.example.com");
});

test("clusters that were launched under other settings are not reached by these", async () => {
  const before = await afterLaunch({ ports: "https://*.example.com" });
  assert.equal(await before.find(8080, "https://*.example.org"), undefined);
  assert.equal(await before.find(7000), undefined);
  const none = await afterLaunch({});
  assert.equal(await none.find(8080, "https://*.example.com"), undefined);
  assert.equal(await none.find(8080, "loadbalancer"), undefined);
});

test("replicas are not exposed beside their service", async () => {
  for (const ports of ["loadbalancer", "https://*.example.com"]) {
    const { objects } = await afterLaunch({ ports }, { noun: "replica" });
    assert.deepEqual([...objects.keys()], ["/api/v1/namespaces/n/services/outrigger-c1"]);
  }
});

test("settings name a way to reach ports that exists", () => {
  const read = (ports: string) => readConfig({ OUTRIGGER_KUBERNETES_PORTS: ports }).kubernetesPorts;
  for (const ports of ["forward", "loadbalancer", "http://*.lab", "https://*.a-b.example:8443"])
    assert.equal(read(ports), ports);
  for (const ports of ["ingress", "*.example.com", "https://example.com", "https://*.a/path"])
    assert.throws(() => read(ports), { message: /^OUTRIGGER_KUBERNETES_PORTS: write forward, / });
});
