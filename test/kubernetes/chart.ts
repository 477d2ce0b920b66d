import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { openClient } from "../../client/sdk.ts";
import { Secret } from "../../common/secret.ts";
import { cloudOperations } from "../../contract/operations/clouds.ts";
import { kubernetesOperations } from "../../contract/operations/kubernetes.ts";
import { volumeOperations as volumes } from "../../contract/operations/volumes.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { hasEnded, until } from "../helpers/agent.ts";
import { writeCertificate } from "../helpers/certificates.ts";
import { buildControlImage } from "../helpers/control-image.ts";
import { startEngine, whyNoEngine } from "../helpers/engines.ts";
import { objectsOf, whyNoHelm } from "../helpers/helm.ts";
import { importImages, type Lab, openLab, whyNoLab } from "../helpers/kubernetes.ts";
import { addDisk, addGpus, registryLogin } from "./lab.ts";

const options = { skip: whyNoLab() || whyNoHelm() || whyNoEngine("podman"), timeout: 400_000 };
const pod = "outrigger-0";

test(
  "control runs where its chart installs it, with the rights that it needs and no others",
  options,
  async (t) => {
    const lab = await openLab(t);
    const { kubectl, namespace, get } = lab;
    const { client, change, uninstall } = await install(t, lab);
    const demo = clusterOf({ client }, "demo");

    await t.test("its pods run jobs", async () => {
      const resources = { infra: "k8s", cpus: 0.3, memory: 1, image_id: "docker:lab/debian:1" };
      const task = { run: "echo hello", num_nodes: 2, resources, secrets: registryLogin };
      const begun = Date.now();
      const { text } = await demo.follow(await demo.launch(JSON.stringify(task)));
      t.diagnostic(`first line after ${Date.now() - begun} ms`);
      assert.match(text, /hello/);
      const again = await demo.follow(await demo.exec(JSON.stringify(task)));
      assert.match(again.text, /hello/);
    });

    await t.test("it tells what nodes have", async () => {
      assert.deepEqual(await client.callAndGet(cloudOperations.allContexts, {}), ["in-cluster"]);
      assert.deepEqual(await client.callAndGet(cloudOperations.enabledClouds, {}), ["kubernetes"]);
      const { node_info_dict: nodes } = await client.callAndGet(
        cloudOperations.kubernetesNodeInfo,
        {},
      );
      assert.equal(nodes["lab1"]?.is_ready, true);
      assert.ok(Number(nodes["lab1"]?.cpu_free) < Number(nodes["lab1"]?.cpu_count));
      assert.match(
        await kubectl("exec", pod, "--", "outrigger", "check"),
        /kubernetes\/in-cluster/,
      );
    });

    await t.test(
      "a launch in its pod that names no infrastructure makes a pod beside it",
      async () => {
        const launch = ["launch", "--yes", "--cluster", "inner", "--cpus", "0.3", "--memory", "1"];
        const run = "echo on $HOSTNAME";
        assert.match(
          await kubectl("exec", pod, "--", "outrigger", ...launch, run),
          /on outrigger-/,
        );
        assert.match(
          await kubectl("exec", pod, "--", "outrigger", "status"),
          /inner +UP +kubernetes/,
        );
        await clusterOf({ client }, "inner").down();
      },
    );

    await t.test("it makes claims and deletes them", async () => {
      const config = { storage_class_name: "lab" };
      const claim = { volume_type: "k8s-pvc", cloud: "kubernetes", size: "1Gi", config };
      await client.callAndGet(volumes.apply, { name: "data", ...claim });
      const [made] = await client.callAndGet(volumes.list, { refresh: "true" });
      const name = made?.name_on_cloud ?? "";
      assert.ok(await get("pvc", name));
      await client.callAndGet(volumes.delete, { names: ["data"] });
      await until(async () => (await get("pvc", name)) === undefined || undefined);
    });

    await t.test("it reads no secrets, and changes nothing elsewhere", async () => {
      const own = ["--as", `system:serviceaccount:${namespace}:outrigger`];
      const refused = (...words: string[]) =>
        assert.rejects(kubectl(...words, ...own), /forbidden/i, words.join(" "));
      await kubectl("get", "pods", ...own);
      await refused("get", "secrets");
      await refused("get", "secrets", "--namespace=kube-system");
      await refused("delete", "pod", "any", "--namespace=kube-system");
      await refused("run", "any", "--image=any", "--namespace=kube-system");
      await refused("get", "--raw", "/api/v1/namespaces/kube-system/pods/any/exec");
      await refused("label", "node", "lab1", "its=own");
    });

    await t.test(
      "drains wait for an administrator if its budget says so, and its policy names its port alone",
      async (t) => {
        t.after(() => kubectl("uncordon", "lab1"));
        await change({ podDisruptionBudget: { enabled: true, maxUnavailable: 0 } });
        const grace = ["--timeout=3s", `--pod-selector=statefulset.kubernetes.io/pod-name=${pod}`];
        await assert.rejects(
          kubectl("drain", "lab1", "--ignore-daemonsets", "--delete-emptydir-data", ...grace),
          /Cannot evict pod as it would violate the pod's disruption budget/,
        );
        await kubectl("uncordon", "lab1");
        // The lab's network does not know policies.
        const ports = "--output=jsonpath={.spec.policyTypes} {.spec.ingress[*].ports}";
        assert.equal(
          await kubectl("get", "networkpolicy", "outrigger", ports),
          '["Ingress"] [{"port":"api","protocol":"TCP"}]',
        );
      },
    );

    await t.test("it labels accelerators once the chart gives it the right to", async (t) => {
      await addGpus(t, lab, { label: null });
      const label = () => client.callAndGet(kubernetesOperations.kubernetesLabelGpus, {});
      const kind = "--output=jsonpath={.metadata.labels.outrigger/accelerator}";
      const { success, message } = await label();
      assert.equal(success, false);
      assert.match(message ?? "", /lab1: .*cannot patch resource "nodes".*rbac\.labelNodes=true/);
      assert.equal(await kubectl("get", "node", "lab1", kind), "");

      await change({ rbac: { labelNodes: true } });
      await until(async () => (await label()).success || undefined);
      assert.equal(await kubectl("get", "node", "lab1", kind), "NVIDIA-H100-80GB-HBM3");
      const purpose = "--selector=outrigger/purpose=label";
      assert.equal(await kubectl("get", "pods", purpose, "--output=name"), "");
    });

    await t.test("nothing is left of the cluster, and its database outlives its pod", async () => {
      await demo.down();
      const ours = ["pods,services,secrets,pvc", "--selector=outrigger/control", "--output=name"];
      await until(async () => (await kubectl("get", ...ours)) === "" || undefined);
      await uninstall();
      await until(async () => (await get("pod", pod)) === undefined || undefined);
      const left = await kubectl("get", "all,pvc,serviceaccounts,roles", "--output=name");
      const kept = [`persistentvolumeclaim/data-${pod}`, "serviceaccount/default"];
      assert.deepEqual(left.split("\n"), kept);
    });
  },
);

/** Installs the chart of control, and logs in there through its service. */
async function install(t: TestContext, lab: Lab) {
  const { kubectl, namespace } = lab;
  const folder = mkdtempSync(join(tmpdir(), "chart-"));
  const { tlsCertFile: cert, tlsKeyFile: key } = writeCertificate(folder, "localhost");
  await kubectl("create", "secret", "tls", "certificate", `--cert=${cert}`, `--key=${key}`);
  await addDisk(t, lab, "control");
  await addDisk(t, lab, "volume");
  const values = await valuesWith(t, folder);
  const file = join(folder, "objects.json");
  const change = async (more: object) => {
    const items = objectsOf({ ...values, ...more }, "--namespace", namespace).map(withHost);
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await kubectl("apply", `--filename=${file}`);
  };
  const uninstall = () => kubectl("delete", `--filename=${file}`, "--ignore-not-found");
  t.after(async () => {
    await uninstall();
    rmSync(folder, { recursive: true });
  });
  await change({});
  const begins = kubectl("rollout", "status", "statefulset/outrigger", "--timeout=60s");
  await begins.catch(async () => assert.fail(await kubectl("logs", pod)));

  const words = [
    "outrigger",
    "tokens",
    "create",
    "ann",
    "--role",
    "admin",
    "--expires-in-days",
    "1",
  ];
  const token = await kubectl("exec", pod, "--", ...words);
  const usual = getCACertificates();
  setDefaultCACertificates([...usual, readFileSync(cert, "utf8")]);
  t.after(() => setDefaultCACertificates(usual));
  const endpoint = `https://localhost:${await forward(t, lab)}`;
  const client = openClient({ endpoint, token: new Secret(token), origin: "a test" });
  t.after(() => client.close());
  return { client, change, uninstall };
}

async function valuesWith(t: TestContext, folder: string) {
  const { run } = await startEngine(t, "podman");
  const image = await buildControlImage(t, run);
  const archive = join(folder, "image.tar");
  await run("save", `--output=${archive}`, image);
  await importImages(archive);
  const [repository, tag] = image.split(":");
  return {
    image: { repository, tag },
    tls: { secretName: "certificate" },
    persistence: { size: "1Gi", storageClass: "lab" },
    resources: { requests: { cpu: "100m", memory: "256Mi" } },
    settings: {
      OUTRIGGER_KUBERNETES_IMAGE: "docker.io/lab/gpu:1",
      OUTRIGGER_KUBERNETES_RUNTIME_IMAGE: image,
    },
  };
}

/** The lab has no DNS. */
function withHost(object: { kind: string; spec: { template: { spec: object } } }) {
  if (object.kind === "StatefulSet")
    Object.assign(object.spec.template.spec, {
      hostAliases: [{ ip: "10.96.0.1", hostnames: ["kubernetes.default.svc"] }],
    });
  return object;
}

/** A port of this machine that leads to the service of control. */
async function forward(t: TestContext, { kubectlWords: [file = "", ...words] }: Lab) {
  const child = spawn(file, [...words, "port-forward", "service/outrigger", ":443"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    child.kill();
    if (!hasEnded(child)) await once(child, "exit");
  });
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (port !== undefined) return port;
  }
  throw new Error("nothing is forwarded");
}
