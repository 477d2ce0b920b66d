import assert from "node:assert/strict";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import {
  aService,
  balancersOf,
  clientOf,
  endBalancer,
  serviceOf,
  unharmed,
  untilAnswered,
  untilAnswers,
} from "./service.ts";

test("programs are killed under a service", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const service = serviceOf(control, "chat");
  const endpoint = await service.up(aService(control));
  const client = clientOf(t, endpoint);
  await service.untilReady(2);
  await t.test("control: no request fails, and the balancer is adopted", async () => {
    const before = balancersOf(control);
    await unharmed(client, "mixed", async (load) => {
      await control.end("SIGKILL");
      await untilAnswered(load, 40);
      await control.start();
      await service.untilReady(2);
    });
    assert.equal(before.length, 1);
    assert.deepEqual(balancersOf(control), before);
  });

  await t.test("control in the middle of an update, which it takes up again", async () => {
    await unharmed(client, "mixed", async (load) => {
      await service.update(aService(control, { model: "v2" }));
      await service.until(({ replica_info }) => replica_info.some(({ version }) => version === 2));
      await control.end("SIGKILL");
      await untilAnswered(load, 10);
      await control.start();
      await service.untilReady(2, 2);
    });
    assert.equal((await client.who()).model, "v2");
  });

  await t.test("the balancer: it is started again where it was", async () => {
    await endBalancer(control);
    await untilAnswers(client);
    assert.equal((await service.status())?.endpoint, endpoint);
    await unharmed(client, "mixed", () => service.untilReady(2, 2));
  });

  await t.test("balancer and control, and a replica's server while they are away", async () => {
    const { pid } = await client.who();
    await control.end("SIGKILL");
    for (const one of [...balancersOf(control), pid]) process.kill(one, "SIGKILL");
    await control.start();
    await untilAnswers(client);
    await unharmed(client, "mixed", async () => {
      await service.until(({ replica_info }) =>
        replica_info.some(({ status }) => status === "FAILED"),
      );
      await service.untilReady(2, 2);
    });
  });

  await service.down();
});
