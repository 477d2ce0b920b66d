import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { aService, clientOf, serviceOf, unharmed } from "../e2e/service.ts";
import { until } from "../helpers/agent.ts";
import { whyNoLab } from "../helpers/kubernetes.ts";
import { addGpus, evict, gpuResources, outFolder, startKubeControl } from "./lab.ts";

const fixtures = join(import.meta.dirname, "../fixtures");

test("replicas in pods are updated, and replaced when evicted, without a lost request", {
  skip: whyNoLab(),
  timeout: 240_000,
}, async (t) => {
  const lab = await startKubeControl(t);
  const { control, kubectl } = lab;
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

  const pods = "--output=jsonpath={.items[*].metadata.name}";
  const evictOne = async () => {
    const [evicted = "", kept] = (await kubectl("get", "pods", pods)).split(" ");
    await unharmed(client, "mixed", async () => {
      await evict(lab, evicted);
      await until(async () => {
        const now = (await kubectl("get", "pods", pods)).split(" ");
        return (now.length === 2 && !now.includes(evicted)) || undefined;
      });
      await service.untilReady(2, 2);
    });
    assert.ok((await kubectl("get", "pods", pods)).split(" ").includes(kept ?? ""));
  };
  const untilReachedAt = (place: string) =>
    service.until(({ replica_info: all }) =>
      all.every(({ endpoint }) => endpoint?.includes(place) === true),
    );
  await untilReachedAt("//127.0.0.1:");
  await evictOne();
  await routeToPods(t);
  await untilReachedAt("//10.244.");
  await evictOne();

  await service.down();
  await until(async () => {
    const left = "--selector=outrigger/control";
    return (await kubectl("get", "pods,services", left, "--output=name")) === "" || undefined;
  });
});

test("a replica that waits for a free GPU says so", {
  skip: whyNoLab(),
  timeout: 120_000,
}, async (t) => {
  const lab = await startKubeControl(t);
  await addGpus(t, lab);
  const { kubernetes } = outFolder(t, { "/fixtures": fixtures });
  const service = serviceOf(lab.control, "chat");
  const why =
    /^waits for its cluster: node 0 pending: .*Insufficient nvidia.com\/gpu.* lab1 \(8\)\.$/;

  // Each of the two takes all of them.
  await service.up(
    aService(lab.control, {
      model: "v1",
      run: "exec node /fixtures/model-server.mjs",
      more: {
        resources: { ...gpuResources, ports: 8_080 },
        config: { kubernetes: { ...kubernetes, provision_timeout: -1 } },
      },
    }),
  );

  await service.until(({ replica_info: all }) =>
    all.some(({ status_reason: reason }) => why.test(reason ?? "")),
  );
  await service.down();
});

/** Lets control reach pods at their own addresses, as it does where it runs beside them. */
async function routeToPods(t: TestContext): Promise<void> {
  const route = ["10.244.0.0/24", "via", "203.0.113.2"];
  const ip = promisify(execFile);
  await ip("ip", ["route", "replace", ...route]);
  t.after(() => ip("ip", ["route", "del", ...route]));
}
