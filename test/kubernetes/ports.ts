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
