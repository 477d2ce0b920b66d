import assert from "node:assert/strict";
import { test } from "node:test";
import type { Configuration } from "../../../contract/records/workspaces.ts";
import { policyOf } from "../../../control/workspaces/schema.ts";

const infras = ["local", "ssh/Lab", "ssh/attic", "ssh/attic/a", "aws/us-east-1"];

const rules: readonly [what: string, document: Configuration, allowed: readonly string[]][] = [
  ["nothing is said", {}, infras],
  ["a cloud is disabled for all", { ssh: { disabled: true } }, ["local", "aws/us-east-1"]],
  ["clouds are named as other clients do", { allowed_clouds: ["AWS"] }, ["aws/us-east-1"]],
  ["a pool is named", { allowed_infra: ["ssh/Lab"] }, ["ssh/Lab"]],
  [
    "pools are listed in their block",
    { workspaces: { default: { ssh: { allowed_node_pools: ["attic"] } } } },
    ["local", "ssh/attic", "ssh/attic/a", "aws/us-east-1"],
  ],
  ["all pools are", { workspaces: { default: { ssh: { allowed_node_pools: "all" } } } }, infras],
  [
    "a workspace would allow more than holds for all",
    { allowed_infra: ["ssh"], workspaces: { default: { allowed_infra: ["*"] } } },
    ["ssh/Lab", "ssh/attic", "ssh/attic/a"],
  ],
  ["an empty list is given", { workspaces: { default: { allowed_infra: [] } } }, []],
];

for (const [what, document, allowed] of rules)
  test(`where launches may go if ${what}`, () => {
    const policy = policyOf(document, "default");

    assert.deepEqual(infras.filter(policy.allows), allowed);
  });

test("a workspace allows the contexts that it lists, by their whole names", () => {
  const eks = "arn:aws:eks:us-east-1:1:cluster/prod";
  const places = ["local", "kubernetes/a", "kubernetes/b", `kubernetes/${eks}`];
  const allowed = (contexts: "all" | string[], more: Configuration = {}) =>
    places.filter(
      policyOf(
        { ...more, workspaces: { default: { kubernetes: { allowed_contexts: contexts } } } },
        "default",
      ).allows,
    );

  assert.deepEqual(allowed("all"), places);
  assert.deepEqual(allowed(["a", eks]), ["local", "kubernetes/a", `kubernetes/${eks}`]);
  assert.deepEqual(allowed([]), ["local"]);
  assert.deepEqual(allowed(["a", "b"], { kubernetes: { allowed_contexts: ["b"] } }), [
    "local",
    "kubernetes/b",
  ]);
});

test("limits of a workspace come before those for all, one by one", () => {
  const limits = { clusters: 1, idle_minutes: 60 };
  const document = { limits, workspaces: { default: { limits: { clusters: 5 } } } };

  assert.deepEqual(policyOf(document, "default").limits, { clusters: 5, idle_minutes: 60 });
  assert.deepEqual(policyOf(document, "other").limits, limits);
});
