import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { aService, clientOf, serviceOf, unharmed } from "../e2e/service.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { outFolder, startKubeControl } from "./lab.ts";

const fixtures = join(import.meta.dirname, "../fixtures");

test("replicas in pods are updated behind their sidecars without a lost request", {
  skip: whyNoLab(),
  timeout: 240_000,
}, async (t) => {
  const { control, kubectl } = await startKubeControl(t);
  const { kubernetes } = outFolder(t, { "/fixtures": fixtures });
  const service = serviceOf(control, "chat");
  const version = (number: number) =>
    aService(control, {
      model: `v${number}`,
      run: "unset API_KEY; exec node /fixtures/model-server.mjs",
      service: { auth: { api_key: "$API_KEY" } },
      more: {
        resources: { infra: "k8s", cpus: 0.4, memory: 0.5, ports: 8_080 },
        config: { kubernetes },
      },
    });
  const client = clientOf(t, await service.up(version(1)));
  await service.untilReady(2);

  for (const wrong of [null, "sesame"])
    assert.equal((await client.get("/v1/models", wrong)).status, 401);
  const { answered } = await unharmed(client, "mixed", async () => {
    await service.update(version(2));
    await service.untilReady(2, 2);
  });
  assert.deepEqual([answered[0]?.model, answered.at(-1)?.model], ["v1", "v2"]);

  await service.down();
  await until(async () => {
    const left = "--selector=outrigger/control";
    return (await kubectl("get", "pods,services", left, "--output=name")) === "" || undefined;
  });
});
