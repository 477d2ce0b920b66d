import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

test("ports have the address of a load balancer once there is one", {
  skip: whyNoLab(),
  timeout: 300_000,
}, async (t) => {
  const { control, kubectl } = await startKubeControl(t, {
    OUTRIGGER_KUBERNETES_PORTS: "loadbalancer",
  });
  const demo = clusterOf(control, "demo");
  const resources = { infra: "k8s", cpus: 0.5, memory: 1, ports: 8080 };
  await demo.launch(aPodTask("sleep 3600", { resources }));
  const endpoint = async () => (await control.cli("status", "--endpoint", "8080", "demo")).stdout;
  assert.doesNotMatch(await endpoint(), /192\.0\.2\.7/);

  const balancers = ["service", "--field-selector=spec.type=LoadBalancer", "--output=name"];
  const name = await kubectl("get", ...balancers);
  const status = { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } };
  const patch = ["--subresource=status", "--type=merge", `--patch=${JSON.stringify({ status })}`];
  await kubectl("patch", name, ...patch);

  assert.match(await endpoint(), /^192\.0\.2\.7:8080$/m);
  await demo.down();
  await until(async () => (await kubectl("get", ...balancers)) === "" || undefined);
});

test("ports have a URL of their own by an Ingress, which goes with the cluster", {
  skip: whyNoLab(),
  timeout: 300_000,
}, async (t) => {
  const { control, kubectl } = await startKubeControl(t, {
    OUTRIGGER_KUBERNETES_PORTS: "https://*.apps.lab",
    OUTRIGGER_KUBERNETES_INGRESS_CLASS: "nginx",
  });
  const demo = clusterOf(control, "demo");
  const resources = { infra: "k8s", cpus: 0.5, memory: 1, ports: 8080 };
  await demo.launch(aPodTask("sleep 3600", { resources }));

  const { stdout } = await control.cli("status", "--endpoint", "8080", "demo");
  const ours = ["ingresses,services", "--selector=outrigger/cluster=demo"];
  const { items } = JSON.parse(await kubectl("get", ...ours, "--output=json"));
  const [{ spec }] = items.filter(({ kind }: { kind: string }) => kind === "Ingress");
  assert.equal(stdout, `https://${spec.rules[0].host}\n`);
  assert.match(spec.rules[0].host, /^[0-9a-f]{12}-8080\.apps\.lab$/);
  assert.equal(spec.ingressClassName, "nginx");
  const { name } = spec.rules[0].http.paths[0].backend.service;
  const slices = ["endpointslices", `--selector=kubernetes.io/service-name=${name}`];
  const places = JSON.parse(await kubectl("get", ...slices, "--output=json")).items;
  assert.deepEqual([places[0].ports[0].port, places[0].endpoints.length], [8080, 1]);

  await demo.down();
  await until(async () => (await kubectl("get", ...ours, "--output=name")) === "" || undefined);
});
