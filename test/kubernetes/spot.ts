import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOf } from "../e2e/cluster.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

test("a task that asks for spot gets a pod that keeps to spot nodes, and tolerates their taint", {
  skip: whyNoLab(),
  timeout: 120_000,
}, async (t) => {
  const lab = await startKubeControl(t);
  const { control, kubectl } = lab;
  const key = "cloud.google.com/gke-spot";
  t.after(() => kubectl("label", "node", "lab1", `${key}-`));
  t.after(() => kubectl("taint", "node", "lab1", `${key}-`));
  await kubectl("label", "node", "lab1", `${key}=true`);
  await kubectl("taint", "node", "lab1", `${key}=true:NoSchedule`);
  const resources = { infra: "k8s", cpus: 0.5, memory: 1, use_spot: true };

  const demo = clusterOf(control, "demo");
  const { code, text } = await demo.follow(await demo.launch(aPodTask("echo here", { resources })));

  assert.equal(code, 0);
  assert.match(text, /here/);
  const pod = await kubectl("get", "pods", "--selector=outrigger/cluster=demo", "--output=json");
  assert.match(pod, /"key": "cloud.google.com\/gke-spot",\s+"operator": "In"/);
  await demo.down();
});
