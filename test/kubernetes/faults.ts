import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations as jobs } from "../../contract/operations/jobs.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { hookedCluster } from "../e2e/hooked.ts";
import { until } from "../helpers/agent.ts";
import { whileAway, whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, outFolder, startKubeControl } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 240_000 };
const ours = "--selector=outrigger/control";

test(
  "a node that is away costs no job; once its pods are given up, they are replaced or deleted",
  options,
  async (t) => {
    const { control, kubectl } = await startKubeControl(t);
    const out = outFolder(t);
    const { client } = control;
    const isReady = (is: string) =>
      until(async () => {
        const path = "--output=jsonpath={.status.conditions[?(@.type=='Ready')].status}";
        return (await kubectl("get", "node", "lab1", path)) === is || undefined;
      });
    const job = async () => (await client.callAndGet(jobs.queueV2, {})).jobs[0];
    const untilJob = (recoveries: number) =>
      until(async () => {
        const now = await job();
        return (now?.status === "RUNNING" && now.recovery_count === recoveries) || undefined;
      });
    const healthy = hookedCluster(control, "healthy");
    const doomed = clusterOf(control, "doomed");
    const kubernetes = out.kubernetes;
    const id = await healthy.launch(
      aPodTask("until [ -e /out/go ]; do sleep 0.1; done; echo done", { config: { kubernetes } }),
    );
    await doomed.launch(aPodTask("sleep 3600", { config: { kubernetes } }));
    const tolerations = ["not-ready", "unreachable"].map((taint) => ({
      ...{ key: `node.kubernetes.io/${taint}`, operator: "Exists", effect: "NoExecute" },
      tolerationSeconds: 1,
    }));
    const impatient = out.withPods({ tolerations, terminationGracePeriodSeconds: 1 });
    const task = aPodTask("sleep 3600", { name: "train", config: { kubernetes: impatient } });
    await client.callAndGet(jobs.launch, { task, name: null });
    await untilJob(0);

    await whileAway("kubelet", async () => {
      await isReady("Unknown");
      // Kubernetes gives pods up only while it hears of another node.
      const taint = "node.kubernetes.io/unreachable:NoExecute";
      await kubectl("taint", "node", "lab1", "--overwrite", taint);
      const why =
        /pod outrigger-\w+-0 is on node lab1 of Kubernetes context lab, which is not ready/;
      await until(
        async () => (await healthy.events()).some((event) => why.test(event)) || undefined,
      );
      await doomed.down();
      await until(async () => (await job())?.status !== "RUNNING" || undefined);
    });
    await untilJob(1);
    const { stdout } = await control.cli("jobs", "logs", "1", "--controller", "--no-follow");
    assert.match(
      stdout,
      /its machine is gone: it was on node lab1 of Kubernetes context lab, which is not ready/,
    );

    await healthy.untilStatus("UP");
    out.write("go");
    const { code, text } = await healthy.follow(id);
    assert.deepEqual([code, text.trim()], [0, "done"]);
    await client.callAndGet(jobs.cancel, { job_ids: [1] });
    await healthy.down();
    await until(
      async () =>
        (await kubectl("get", "pods,services", ours, "--output=name")) === "" || undefined,
    );
  },
);

test(
  "what a quota or an admission policy refuses is told, and leaves nothing",
  options,
  async (t) => {
    const { control, kubectl, namespace } = await startKubeControl(t);
    const task = join(control.home, "task.yaml");
    writeFileSync(task, aPodTask("true"));
    const launch = async () => (await control.cli("launch", "-y", "-c", "demo", task)).stderr;

    const policy = join(control.home, "policy.json");
    const admission = { apiVersion: "admissionregistration.k8s.io/v1" };
    const matchExpressions = [
      { key: "kubernetes.io/metadata.name", operator: "In", values: [namespace] },
    ];
    const items = [
      {
        ...{ ...admission, kind: "ValidatingAdmissionPolicy", metadata: { name: namespace } },
        spec: {
          matchConstraints: {
            namespaceSelector: { matchExpressions },
            resourceRules: [
              { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
            ],
          },
          validations: [{ expression: "false", message: "no pods today" }],
        },
      },
      {
        ...{
          ...admission,
          kind: "ValidatingAdmissionPolicyBinding",
          metadata: { name: namespace },
        },
        spec: { policyName: namespace, validationActions: ["Deny"] },
      },
    ];
    writeFileSync(policy, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    await kubectl("apply", "--filename", policy);
    const isRefused = () =>
      kubectl("run", "probe", "--image=none", "--dry-run=server").then(
        () => false,
        () => true,
      );
    await until(async () => (await isRefused()) || undefined);
    assert.match(await launch(), /denied request: no pods today/);
    assert.equal(await kubectl("get", "pods,services", ours, "--output=name"), "");
    await kubectl("delete", "--filename", policy);
    await until(async () => !(await isRefused()) || undefined);

    await kubectl("create", "quota", "none", "--hard=pods=0");
    await until(async () => {
      const used = await kubectl("get", "quota", "none", "--output=jsonpath={.status.used.pods}");
      return used === "0" || undefined;
    });
    assert.match(
      await launch(),
      /exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0/,
    );
    assert.equal(await kubectl("get", "pods,services", ours, "--output=name"), "");
  },
);
