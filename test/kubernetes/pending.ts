import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { containerName } from "../../control/doors/kubernetes/exec.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { addGpus, aPodTask, gpuResources, outFolder, startKubeControl } from "./lab.ts";

const skip = whyNoLab();

test("a pod that nothing has room for says why, and the launch goes elsewhere", {
  skip,
  timeout: 180_000,
}, async (t) => {
  // What a task says goes first.
  const lab = await startKubeControl(t, { OUTRIGGER_KUBERNETES_PROVISION_SECONDS: "3600" });
  const { control } = lab;
  const kubernetes = { ...outFolder(t).kubernetes, provision_timeout: 2 };
  const config = { kubernetes };
  const gpus = { resources: gpuResources, config };
  await addGpus(t, lab);
  await clusterOf(control, "first").launch(aPodTask("sleep 3600", gpus));

  await t.test("nothing else: the launch fails with what the scheduler says", async () => {
    const task = join(control.home, "gpus.yaml");
    writeFileSync(task, aPodTask("true", gpus));
    const { code, stderr } = await control.cli("launch", "-y", "-c", "second", task);
    assert.notEqual(code, 0);
    assert.match(stderr, /pending: 0\/1 nodes are available: 1 Insufficient nvidia.com\/gpu\.\n/);
    assert.match(stderr, /no offer is left for H100:8.*Insufficient nvidia.com\/gpu/s);
    const ofSecond = ["pods,services", "--selector=outrigger/cluster=second", "--output=name"];
    await until(async () => (await lab.kubectl("get", ...ofSecond)) === "" || undefined);
  });

  await t.test("another candidate: it is tried once the pod has waited for its time", async () => {
    // What was refused before is not tried again.
    const half = { ...gpuResources, accelerators: "H100:4" };
    const resources = { ordered: [half, { infra: "local" }] };
    const begunAt = performance.now();
    const third = clusterOf(control, "third");
    const { code, text } = await third.follow(
      await third.launch(aPodTask("echo here", { resources, config })),
    );
    assert.equal(code, 0);
    assert.match(text, /here/);
    assert.ok(performance.now() - begunAt > kubernetes.provision_timeout * 1_000);
    await third.down();
  });

  await t.test("an image that cannot be had is named", async () => {
    const task = join(control.home, "image.yaml");
    writeFileSync(
      task,
      aPodTask("true", {
        config,
        resources: { infra: "k8s", cpus: 0.5, memory: 1, image_id: "docker:lab.invalid/none:1" },
      }),
    );
    const { code, stderr } = await control.cli("launch", "-y", "-c", "fourth", task);
    assert.notEqual(code, 0);
    assert.match(stderr, /ErrImagePull|ImagePullBackOff/);
  });
  await t.test("what is mounted and missing is told while the launch waits", async () => {
    const task = join(control.home, "mount.yaml");
    const mount = { name: "gone", mountPath: "/gone" };
    const spec = {
      containers: [{ name: containerName, volumeMounts: [mount] }],
      volumes: [{ name: "gone", secret: { secretName: "gone" } }],
    };
    const kubernetes = { pod_config: { spec } };
    writeFileSync(task, aPodTask("true", { config: { kubernetes } }));
    const launch = control.cli("launch", "-y", "-c", "fifth", task);
    const ofFifth = ["pods", "--selector=outrigger/cluster=fifth", "--output=name"];
    await until(async () => (await lab.kubectl("get", ...ofFifth)) !== "" || undefined);
    const began = Date.now();
    await until(async () => {
      const { stdout } = await control.cli("explain", "fifth");
      return /FailedMount: .*secret "gone" not found/.test(stdout) || undefined;
    });
    const seconds = (Date.now() - began) / 1_000;
    t.diagnostic(`a missing mount is explained ${seconds} s after its pod was made`);
    assert.ok(seconds < 15);
    await clusterOf(control, "fifth").down();
    assert.notEqual((await launch).code, 0);
  });
  await clusterOf(control, "first").down();
});
