import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../../common/errors.ts";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import { beginToAsk } from "../../../../control/providers/kubernetes/labelling.ts";
import { aNode } from "./a-pod.ts";

const signal = new AbortController().signal;

/** What is made where control has the right to label nodes or not, and a webhook refuses every dry run. */
async function ask(allowed: boolean) {
  const made: string[] = [];
  const send = async (_method: string, path: string, { kind }: { kind: string }) => {
    if (path.includes("dryRun"))
      throw new AppError("ResourcesUnavailableError", "webhook does not support dry run");
    made.push(kind);
    return { status: { allowed } };
  };
  const api = { namespace: "n", send } as unknown as KubeApi;
  await beginToAsk(api, aNode({}, 1), "debian", signal);
  return made;
}

test("a node is asked for its kind where control may label it, whatever webhooks say of dry runs", async () => {
  assert.deepEqual(await ask(true), ["SelfSubjectAccessReview", "Pod"]);
});

test("no accelerator is taken where control may not label nodes, and the setting that changes it is named", async () => {
  await assert.rejects(ask(false), {
    type: "CloudError",
    message: /cannot patch resource "nodes".*rbac\.labelNodes=true/,
  });
});
