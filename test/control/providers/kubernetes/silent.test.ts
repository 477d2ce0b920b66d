import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { KubeApi } from "../../../../control/doors/kubernetes/api.ts";
import { kubernetesProvider } from "../../../../control/providers/kubernetes/kubernetes.ts";

const signal = new AbortController().signal;

function providerOf(names: () => Promise<string[]>, read: (context: string) => Promise<unknown>) {
  const api = async (context: string) =>
    ({ context, namespace: "n", read: () => read(context) }) as unknown as KubeApi;
  const ways = { clusters: { names, api, close: async () => {} }, controlId: "c", image: "i" };
  const limits = { graceAtMost: 600, provisionMs: 0 };
  return kubernetesProvider({ ...ways, ...limits } as never, pino({ level: "silent" }));
}

test("a context that does not answer hides no pods of others, and a broken kubeconfig no other cloud", async () => {
  const pod = {
    metadata: { name: "p", labels: { "outrigger/node-id": "c1-0" } },
    status: { phase: "Running" },
  };
  const silent = async (context: string) => {
    if (context === "away") throw new Error("no answer");
    return { items: [pod] };
  };
  const found = await providerOf(async () => ["away", "near"], silent).find?.(signal);
  assert.deepEqual(
    found?.map(({ id, state }) => [id, state]),
    [["c1-0", "running"]],
  );

  const broken = providerOf(() => Promise.reject(new Error("not YAML")), silent);
  assert.deepEqual(await broken.places?.(), []);
});

test("a context is asked for offers only where the task may go there", async () => {
  const asked: string[] = [];
  const provider = providerOf(
    async () => ["a", "b"],
    async (context) => {
      asked.push(context);
      return { items: [] };
    },
  );
  await provider.offers({ infra: "kubernetes/b" }, signal);
  await provider.offers({ infra: "local" }, signal);
  assert.deepEqual(asked, ["b"]);
});
