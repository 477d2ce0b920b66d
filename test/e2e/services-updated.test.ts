import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import {
  aService,
  clientOf,
  openStream,
  servers,
  serviceOf,
  unharmed,
  untilAnswered,
} from "./service.ts";

test("updates under load", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const service = serviceOf(control, "chat");
  const client = clientOf(t, await service.up(aService(control)));
  await service.untilReady(2);
  const version = (number: number, more = {}) =>
    aService(control, { model: `v${number}`, ...more });

  await t.test("rolling: no request fails", async () => {
    const { answered } = await unharmed(client, "mixed", async () => {
      await service.update(version(2));
      await service.untilReady(2, 2);
    });
    assert.deepEqual([answered[0]?.model, answered.at(-1)?.model], ["v1", "v2"]);
  });

  await t.test("blue_green: old and new never answer side by side", async () => {
    // Of two numbers in a row one is odd: that replica is not ready before the other one is.
    const gate = join(control.home, "gate");
    const run = `((OUTRIGGER_SERVE_REPLICA_ID % 2)) && until [ -e ${gate} ]; do sleep 0.05; done; ${servers.node}`;
    const { answered } = await unharmed(client, "mixed", async (load) => {
      await service.update(version(3, { run }), "blue_green");
      await service.until(({ replica_info }) =>
        replica_info.some((one) => one.version === 3 && one.status === "READY"),
      );
      await untilAnswered(load, 40);
      assert.ok(load.answered.every(({ model }) => model === "v2"));
      writeFileSync(gate, "");
      await service.untilReady(2, 3);
    });
    const first = answered.find(({ model }) => model === "v3")?.endedMs ?? 0;
    const late = answered.filter(({ model, beganMs }) => model === "v2" && beganMs > first);
    assert.ok(first > 0);
    assert.deepEqual(late, []);
  });

  await t.test(
    "terminate-replica: what is open is finished, and another takes its place",
    async () => {
      const [first] = await service.untilReady(2, 3);
      const id = first?.replica_id ?? 0;
      const gate = join(control.home, "end");
      const open = [openStream(client, gate), openStream(client, gate)];
      // At the least load, one is at each of them.
      await Promise.all(open.map(({ begun }) => begun));
      await unharmed(client, "mixed", async () => {
        await service.terminate(id);
        await service.until(({ replica_info }) => {
          const ready = replica_info.filter(({ status }) => status === "READY");
          return ready.length === 2 && ready.every((one) => one.replica_id !== id);
        });
        writeFileSync(gate, "");
        for (const { whole } of open) assert.equal(await whole, 4);
        await service.untilReady(2, 3);
      });
    },
  );

  await service.down();
});
