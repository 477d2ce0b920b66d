import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { clusterOperations as clusters } from "../../contract/operations/clusters.ts";
import { explainOperations as rows } from "../../contract/operations/explain.ts";
import { containerName } from "../../control/doors/kubernetes/exec.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import type { TestControl } from "../helpers/programs.ts";
import { addGpus, aPodTask, gpuResources, outFolder, startKubeControl } from "./lab.ts";

const skip = whyNoLab();
const toldSeconds = 5;

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
    assert.match(
      stderr,
      /pending: 0\/1 nodes are available: 1 Insufficient nvidia.com\/gpu\. Nodes that have nvidia.com\/gpu: lab1 \(8\)\.\n/,
    );
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
  await t.test("everything that shows a launch says what its pod waits for", async (t) => {
    const patient = { ...kubernetes, provision_timeout: -1 };
    const mount = { name: "gone", mountPath: "/gone" };
    const spec = {
      containers: [{ name: containerName, volumeMounts: [mount] }],
      volumes: [{ name: "gone", secret: { secretName: "gone" } }],
    };
    const waits = {
      accelerators: {
        // What was refused before is not tried again.
        task: aPodTask("true", {
          resources: { ...gpuResources, accelerators: "H100:2" },
          config: { kubernetes: patient },
        }),
        why: /node 0 pending: 0\/1 nodes are available: 1 Insufficient nvidia.com\/gpu\. Nodes that have nvidia.com\/gpu: lab1 \(8\)/,
      },
      mount: {
        task: aPodTask("true", { config: { kubernetes: { pod_config: { spec } } } }),
        why: /node 0 pending: FailedMount: .*secret "gone" not found/,
      },
      image: {
        task: aPodTask("true", {
          resources: { infra: "k8s", cpus: 0.5, memory: 1, image_id: "docker:127.0.0.1:9/none:1" },
          config: { kubernetes: patient },
        }),
        why: /node 0 pending: (ErrImagePull|ImagePullBackOff): .*connection refused/,
      },
    };
    for (const [name, { task, why }] of Object.entries(waits))
      await assertTold(t, control, name, task, why);
  });
  await clusterOf(control, "first").down();
});

test("a pod whose nodes have a taint says so, and the launch goes elsewhere after the time that settings give", {
  skip,
  timeout: 180_000,
}, async (t) => {
  // More than the default.
  const provisionSeconds = 12;
  const settings = { OUTRIGGER_KUBERNETES_PROVISION_SECONDS: String(provisionSeconds) };
  const { control, kubectl } = await startKubeControl(t, settings);
  const taint = "lab/reserved=ann:NoSchedule";
  await kubectl("taint", "node", "lab1", taint);
  t.after(() => kubectl("taint", "node", "lab1", `${taint}-`));
  const patient = { kubernetes: { provision_timeout: -1 } };
  const why =
    /pending: 0\/1 nodes are available: .* untolerated taint.* Taint lab\/reserved=ann:NoSchedule: lab1/;
  await assertTold(t, control, "patient", aPodTask("true", { config: patient }), why);

  const resources = { ordered: [{ infra: "k8s", cpus: 0.25 }, { infra: "local" }] };
  const begunAt = performance.now();
  const demo = clusterOf(control, "demo");
  const { code, text } = await demo.follow(await demo.launch(aPodTask("echo here", { resources })));

  assert.equal(code, 0);
  assert.match(text, /here/);
  assert.ok(performance.now() - begunAt > provisionSeconds * 1_000);
  await demo.down();
});

/** Launches a task, and checks that each of what shows a launch soon says why its pod waits. */
async function assertTold(
  t: TestContext,
  control: TestControl,
  name: string,
  task: string,
  why: RegExp,
): Promise<void> {
  const seconds = await whenTold(control, name, task, why);
  t.diagnostic(`${name}: told after ${JSON.stringify(seconds)} s`);
  for (const [by, one] of Object.entries(seconds)) assert.ok(one < toldSeconds, `${name}: ${by}`);
  await clusterOf(control, name).down();
}

/** The seconds from a launch until each of what shows it says why its pod waits. */
async function whenTold({ client }: TestControl, name: string, task: string, why: RegExp) {
  const log: Uint8Array[] = [];
  const begun = performance.now();
  const id = await client.call(clusters.launch, { cluster_name: name, task });
  // It fails once the cluster is taken down.
  client.stream(id, { write: (bytes) => void log.push(bytes), control() {} }).catch(() => {});
  const shows = {
    log: async () => Buffer.concat(log).toString(),
    status: async () =>
      (await client.callAndGet(clusters.status, { cluster_names: [name] }))[0]?.init_status_reason,
    explain: async () => (await client.call(rows.explain, { name })).doing.join("\n"),
  };
  const told = Object.entries(shows).map(async ([by, show]) => {
    const says = async () => why.test((await show().catch(() => "")) ?? "") || undefined;
    await until(says);
    return [by, (performance.now() - begun) / 1_000] as const;
  });
  return Object.fromEntries(await Promise.all(told));
}
