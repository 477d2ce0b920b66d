import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cloudOperations as rows } from "../../contract/operations/clouds.ts";
import { workspaceOperations as workspaces } from "../../contract/operations/workspaces.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { openLab, whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl } from "./lab.ts";

test("pods go to the current context, or to those that their workspace allows", {
  skip: whyNoLab(),
  timeout: 120_000,
}, async (t) => {
  const other = await openLab(t);
  const kubeconfig = `${other.kubeconfig}-both`;
  const settings = { OUTRIGGER_KUBECONFIG: kubeconfig, OUTRIGGER_KUBERNETES_CONTEXTS: "all" };
  const lab = await startKubeControl(t, settings);
  const context = { cluster: "lab", user: "admin", namespace: other.namespace };
  const added = `contexts: [${JSON.stringify({ name: "other", context })}, `;
  writeFileSync(kubeconfig, readFileSync(lab.kubeconfig, "utf8").replace("contexts: [", added));
  const { cli, client, home } = lab.control;
  const task = join(home, "task.yaml");
  writeFileSync(task, aPodTask("true"));
  const config = { kubernetes: { allowed_contexts: ["other"] } };
  await client.callAndGet(workspaces.create, { workspace_name: "research", config });
  const places = { default: ["local", "kubernetes/lab", "kubernetes/other"] };
  const all = { workspaces: "default,research", expand: "true" } as const;
  assert.deepEqual(await client.callAndGet(rows.enabledCloudsBatch, all), {
    ...places,
    research: ["local", "kubernetes/other"],
  });
  const launch = (name: string, ...words: string[]) =>
    cli("launch", "-y", "-d", "-c", name, ...words, task);
  const inResearch = ["--workspace", "research"];

  const refused = await launch("never", ...inResearch, "--infra", "k8s/lab");
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /workspace research: .* does not allow kubernetes\/lab/);
  const missing = await launch("never", "--infra", "k8s/lob");
  assert.match(missing.stderr, /did you mean `kubernetes\/lab`/);
  for (const { code, stderr } of [await launch("first"), await launch("second", ...inResearch)])
    assert.equal(code, 0, stderr);

  const names = ({ kubectl }: typeof other) =>
    kubectl("get", "pods", "--output=jsonpath={.items[*].metadata.labels.outrigger/cluster}");
  assert.deepEqual([await names(lab), await names(other)], ["first", "second"]);
  await Promise.all(["first", "second"].map((name) => clusterOf(lab.control, name).down()));
  for (const one of [lab, other]) await until(async () => (await names(one)) === "" || undefined);
});
