import assert from "node:assert/strict";
import { test } from "node:test";
import { aService, clientOf, serviceOf, unharmed } from "../e2e/service.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { startOnSlurm } from "./bed.ts";

test("a replica on Slurm is updated behind its sidecar without a lost request", {
  skip: whyNoSlurm(),
  timeout: 200_000,
}, async (t) => {
  const { control, untilNothingIsLeft } = await startOnSlurm(t);
  const service = serviceOf(control, "chat");
  const version = (number: number) =>
    aService(control, {
      model: `v${number}`,
      service: { replicas: 1, auth: { api_key: "$API_KEY" } },
      more: { resources: { infra: "slurm", ports: 8_080 + number } },
    });
  const client = clientOf(t, await service.up(version(1)));
  await service.untilReady(1);

  assert.equal((await client.get("/v1/models", "sesame")).status, 401);
  const { answered } = await unharmed(client, "mixed", async () => {
    await service.update(version(2));
    await service.untilReady(1, 2);
  });
  assert.deepEqual([answered[0]?.model, answered.at(-1)?.model], ["v1", "v2"]);

  await service.down();
  await untilNothingIsLeft();
});
