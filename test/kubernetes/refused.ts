import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { aPodTask, startKubeControl, withMounts } from "./lab.ts";

const options = { skip: whyNoLab(), timeout: 120_000 };
const ours = "--selector=outrigger/control";

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
    const begunAt = performance.now();
    assert.match(
      await launch(),
      /exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0/,
    );
    assert.ok(performance.now() - begunAt < 5_000);
    assert.equal(await kubectl("get", "pods,services", ours, "--output=name"), "");
  },
);

test("an image that cannot unpack the agent is refused, although nothing reads what is sent", {
  ...options,
  // Nothing waits for longer to be sent.
  timeout: 60_000,
}, async (t) => {
  const { control } = await startKubeControl(t);
  const tar = join(control.home, "tar");
  writeFileSync(tar, "#!/bin/sh\necho no tar here >&2\nexit 127\n", { mode: 0o755 });
  const task = join(control.home, "task.yaml");
  // Without a Node.js of its own, so that more is sent than any buffer holds.
  const kubernetes = withMounts({ "/usr/bin/tar": tar, "/usr/local/bin/node": tar });
  writeFileSync(task, aPodTask("true", { config: { kubernetes } }));

  const { code, stderr } = await control.cli("launch", "-y", "-c", "demo", task);

  assert.notEqual(code, 0);
  assert.match(stderr, /unpacking the agent failed: no tar here/);
});
