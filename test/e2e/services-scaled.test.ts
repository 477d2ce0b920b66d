import assert from "node:assert/strict";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import { aService, clientOf, endBalancer, serviceOf, unharmed, untilAnswers } from "./service.ts";

/** Sixty requests in the last minute are enough for ten replicas. */
const policy = {
  target_qps_per_replica: 0.1,
  upscale_delay_seconds: 0,
  downscale_delay_seconds: 0,
};

test("services scale with what is asked of them", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const scaled = (min_replicas: number, max_replicas: number) =>
    aService(control, {
      service: { replicas: undefined, replica_policy: { ...policy, min_replicas, max_replicas } },
    });

  await t.test("from one to three and back; no request fails", async () => {
    const service = serviceOf(control, "busy");
    const client = clientOf(t, await service.up(scaled(1, 3)));
    await service.untilReady(1);
    await unharmed(client, "mixed", () => service.untilReady(3));
    assert.match(await service.log("controller"), /target: 1 → \d: [\d.]+ requests\/s need/);
    // One that begins anew knows of no requests.
    await endBalancer(control);
    await untilAnswers(client);
    await service.untilReady(1);
    assert.match(
      await service.log("controller"),
      /target: \d → 1: (0\.\d requests\/s need|a request is waiting)/,
    );
    await service.down();
  });

  await t.test("to zero and from there; whoever wakes it waits and is answered", async () => {
    const service = serviceOf(control, "lazy");
    const client = clientOf(t, await service.up(scaled(0, 1)));
    await service.until(({ status }) => status === "NO_REPLICA");
    assert.deepEqual([await client.complete(true), await client.complete(false)], ["v1", "v1"]);
    await endBalancer(control);
    await service.until(({ status }) => status === "NO_REPLICA");
    await service.untilReady(0);
    const woken = await Promise.all([client.who(), client.complete(true), client.who()]);
    assert.equal(woken.length, 3);
    await service.down();
  });
});
