import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import type { KubeApi } from "../../control/doors/kubernetes/api.ts";
import { openKubeClusters } from "../../control/doors/kubernetes/clusters.ts";
import { podPath } from "../../control/doors/kubernetes/exec.ts";
import { podsWith } from "../../control/providers/kubernetes/watch.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { type Lab, openLab, whileAway, whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

/** What a real API server answers that has forgotten, is asked by several at once, or is busy. */

const options = { skip: whyNoLab(), timeout: 120_000 };

const batchesAtMost = 20;

/** A pod that no node takes. */
const idlePod = (name: string) => ({
  ...{ apiVersion: "v1", kind: "Pod", metadata: { name, labels: { lab: "idle" } } },
  spec: { containers: [{ name: "main", image: "none" }], nodeSelector: { lab: "none" } },
});

async function openApi(t: TestContext, { kubeconfig }: Lab): Promise<KubeApi> {
  const clusters = openKubeClusters(kubeconfig, []);
  t.after(() => clusters.close());
  return clusters.api(null);
}

test(
  "a watch that begins before what the server remembers (410) begins anew with a list",
  options,
  async (t) => {
    const lab = await openLab(t);
    const api = await openApi(t, lab);
    const pods = podPath(api.namespace);
    await api.send("POST", pods, idlePod("p"), t.signal);
    // It remembers what happens from its start on.
    await whileAway("kube-apiserver", async () => {});
    await until(() => api.read(pods, t.signal).catch(() => undefined));
    const calls: string[] = [];
    const told: unknown[] = [];
    const late: KubeApi = {
      ...api,
      read: (path, signal) => {
        calls.push("list");
        return api.read(path, signal);
      },
      async *watch<T>(path: string, signal: AbortSignal) {
        const first = path.replace(/resourceVersion=\d+/, "resourceVersion=1");
        const from = calls.includes("watch") ? path : first;
        calls.push("watch");
        for await (const event of api.watch<T>(from, signal)) {
          if (event.type === "ERROR") told.push(event.object);
          yield event;
        }
      },
    };
    const seen: boolean[] = [];

    for await (const pod of podsWith(late, { lab: "idle" }).follow("p", t.signal)) {
      seen.push(pod !== undefined);
      if (pod === undefined) break;
      if (calls.length === 4)
        await api.send("DELETE", podPath(api.namespace, "p"), undefined, t.signal);
    }

    assert.deepEqual(calls, ["list", "watch", "list", "watch"]);
    assert.partialDeepStrictEqual(told, [{ code: 410, reason: "Expired" }]);
    assert.deepEqual([seen[0], seen.at(-1)], [true, false]);
  },
);

test("pods are created although their quota changes all the time (409)", options, async (t) => {
  const lab = await openLab(t);
  const api = await openApi(t, lab);
  const pods = podPath(api.namespace);
  const create = (name: string) => api.send("POST", pods, idlePod(name), t.signal);
  const quota = `/api/v1/namespaces/${api.namespace}/resourcequotas/wide`;
  await lab.kubectl("create", "quota", "wide", "--hard=pods=1000");
  const conflicts = () => countOf(lab, 'code="409"', 'resource="pods"', 'verb="POST"');
  const before = await conflicts();
  let met = 0;
  let batch = 0;
  const isOver = () => met > 0 || batch === batchesAtMost;
  const changes = ["ann", "bob"].map(async (by) => {
    for (let n = 0; !isOver(); n += 1) {
      const metadata = { annotations: { [by]: String(n) } };
      await api.send("PATCH", quota, { metadata }, t.signal);
    }
  });
  const createAll = async () => {
    for (; !isOver(); batch += 1) {
      const made = await Promise.all([...Array(20).keys()].map((at) => create(`p${batch}-${at}`)));
      assert.ok(made.every((pod) => pod !== undefined));
      met = (await conflicts()) - before;
    }
  };
  const creations = createAll().finally(() => {
    batch = batchesAtMost;
  });

  await Promise.all([creations, ...changes]);
  assert.ok(met > 0);
  // One that is there already is no error.
  assert.equal(await create("p0-0"), undefined);
});

/** How many calls the API server has answered so far that have these labels in its metrics. */
async function countOf(
  { kubectlWords: [program = "", ...words] }: Lab,
  ...labels: readonly string[]
): Promise<number> {
  const metrics = [...words, "get", "--raw", "/metrics"];
  const { stdout } = await promisify(execFile)(program, metrics, { maxBuffer: 2 ** 26 });
  const all = ["apiserver_request_total{", 'subresource=""', ...labels];
  return stdout
    .split("\n")
    .filter((line) => all.every((part) => line.includes(part)))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

test(
  "a server that is too busy (429) costs nothing that runs, and a launch goes on once it answers",
  options,
  async (t) => {
    const lab = await openLab(t);
    const { namespace, kubectl } = lab;
    const account = `--serviceaccount=${namespace}:default`;
    await kubectl(
      "create",
      "clusterrolebinding",
      namespace,
      "--clusterrole=cluster-admin",
      account,
    );
    t.after(() => kubectl("delete", "clusterrolebinding", namespace));
    const token = await kubectl("create", "token", "default");
    const kubeconfig = `${lab.kubeconfig}-account`;
    writeFileSync(kubeconfig, readFileSync(lab.kubeconfig, "utf8").replace("lab-token", token));
    const { control } = await startKubeControl(t, { OUTRIGGER_KUBECONFIG: kubeconfig });
    const demo = clusterOf(control, "demo");
    const late = clusterOf(control, "late");
    const id = await demo.launch(aPodTask("sleep 3600"));
    const uids = () => kubectl("get", "pods", "--output=jsonpath={.items[*].metadata.uid}");
    const before = await uids();

    const refused = await refuseAll(t, lab, token);
    await assert.rejects(
      late.launch(aPodTask("true")),
      /Kubernetes context lab refuses it: Too many/,
    );
    assert.deepEqual([await demo.status(), await demo.jobStatus(id)], ["UP", "RUNNING"]);
    await refused.end();

    const again = await refuseAll(t, lab, token);
    // The first call of a launch; nobody else lists nodes.
    const refusals = () => countOf(lab, 'code="429"', 'resource="nodes"', 'verb="LIST"');
    const refusedBefore = await refusals();
    const launched = late.launch(aPodTask("true"));
    await until(async () => (await refusals()) > refusedBefore || undefined);
    await again.end();
    await late.untilJob(await launched, "SUCCEEDED");
    await late.down();
    assert.deepEqual([await demo.status(), await demo.jobStatus(id)], ["UP", "RUNNING"]);
    assert.equal(await uids(), before);
    await demo.down();
  },
);

/**
 * Has the API server refuse with 429 what the default account of a namespace asks for: the account may have one call at
 * a time, and has one that waits for a webhook that never answers.
 */
async function refuseAll(t: TestContext, lab: Lab, token: string) {
  const { create, kubectl, kubectlWords, namespace } = lab;
  const all = throttleOf(namespace);
  for (const object of all) await create(object);
  const [program = "", ...words] = [...kubectlWords, `--token=${token}`];
  const holder = spawn(program, [...words, "create", "configmap", "held"], { stdio: "ignore" });
  const ended = once(holder, "exit");
  const end = async () => {
    holder.kill();
    await ended;
    for (const { kind } of all) await kubectl("delete", kind, namespace, "--ignore-not-found");
  };
  t.after(end);
  const refusals = () => countOf(lab, 'code="429"', 'resource="pods"', 'verb="LIST"');
  const before = await refusals();
  await until(async () => {
    const calls = kubectl("get", "pods", "--request-timeout=1s", `--token=${token}`);
    await calls.catch(() => {});
    return (await refusals()) > before || undefined;
  });
  return { end };
}

/** What lets the default account of a namespace have one call at a time, and lets one to make a config map wait for long. */
function throttleOf(namespace: string) {
  const metadata = { name: namespace };
  const flow = { apiVersion: "flowcontrol.apiserver.k8s.io/v1" };
  const none = { nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0 };
  const limited = { ...none, limitResponse: { type: "Reject" } };
  const any = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  const subjects = [{ kind: "ServiceAccount", serviceAccount: { namespace, name: "default" } }];
  const resourceRules = [{ ...any, clusterScope: true, namespaces: ["*"] }];
  const webhook = {
    ...{ name: "silent.lab.invalid", clientConfig: { url: "https://203.0.113.99/" } },
    rules: [
      {
        ...{ apiGroups: [""], apiVersions: ["v1"] },
        ...{ operations: ["CREATE"], resources: ["configmaps"] },
      },
    ],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
    ...{ timeoutSeconds: 30, failurePolicy: "Ignore" },
  };
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      ...{ kind: "ValidatingWebhookConfiguration", metadata, webhooks: [webhook] },
    },
    {
      ...{ ...flow, kind: "PriorityLevelConfiguration", metadata },
      spec: { type: "Limited", limited },
    },
    {
      ...{ ...flow, kind: "FlowSchema", metadata },
      spec: {
        ...{ priorityLevelConfiguration: metadata, matchingPrecedence: 10 },
        rules: [{ subjects, resourceRules }],
      },
    },
  ];
}
