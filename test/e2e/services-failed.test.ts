import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceStatusRecord } from "../../contract/records/services.ts";
import { startControl } from "../helpers/programs.ts";
import {
  aService,
  clientOf,
  servers,
  serviceOf,
  type TestService,
  unharmed,
  untilAnswered,
} from "./service.ts";

/** How long after the one before had failed a replica was added, as the service's log tells. */
async function pauseBefore(service: TestService, replica: number): Promise<number> {
  const lines = (await service.log("controller")).split("\n");
  const at = (text: string) =>
    Date.parse(lines.find((line) => line.includes(text))?.split(" ")[0] ?? "");
  return at(` replica ${replica} is added`) - at(` replica ${replica - 1}: FAILED`);
}

const failedOf = ({ replica_info }: ServiceStatusRecord) =>
  replica_info.filter(({ status }) => status === "FAILED");

test("replicas that crash on start", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const run = `echo 'no weights at "/models"' >&2; exit 3`;

  await t.test("fail with their last lines, and the service with them", async () => {
    const service = serviceOf(control, "broken");
    await service.up(aService(control, { run, service: { replicas: 1 } }));
    const record = await service.until(({ status }) => status === "FAILED");
    const failed = failedOf(record);
    assert.ok(failed.length >= 2);
    for (const { status_reason = "" } of failed)
      assert.match(status_reason, /exited with 3.*no weights at "\/models"/s);
    assert.match(await service.log("controller"), /FAILED: replica \d+: .*no weights/s);
    await service.down();
  });

  await t.test(
    "of a new version are tried ever later, then given up; the old version serves on",
    async () => {
      const service = serviceOf(control, "chat");
      const client = clientOf(t, await service.up(aService(control)));
      await service.untilReady(2);
      const { answered } = await unharmed(client, "mixed", async (load) => {
        await service.update(aService(control, { model: "v2", run }));
        const { given_up } = await service.until((record) => record.given_up !== undefined);
        assert.match(given_up ?? "", /version 2 failed .* exited with 3.*no weights/s);
        await service.untilReady(2);
        await untilAnswered(load, 10);
      });
      assert.deepEqual([...new Set(answered.map(({ model }) => model))], ["v1"]);
      const { status, version, active_versions } = (await service.status()) ?? {};
      assert.deepEqual([status, version, active_versions], ["READY", 2, [1]]);
      assert.ok((await pauseBefore(service, 5)) >= 10_000);
      await service.down();
    },
  );
});

test("a server that insists on its port", { timeout: 300_000 }, async (t) => {
  const control = await startControl(t);
  const { document } = control.ports;
  const service = serviceOf(control, "stubborn");
  // Whoever has another port begins once the server of the one that has it listens.
  const until = `until [ $PORT = ${document} ] || (: < /dev/tcp/127.0.0.1/${document}); do sleep 0.05; done`;
  const run = `${until} 2> /dev/null; PORT=${document}; ${servers.node}`;
  const client = clientOf(t, await service.up(aService(control, { run })));

  const record = await service.until((one) => failedOf(one).length > 0);

  const [failed] = failedOf(record);
  assert.match(failed?.status_reason ?? "", /the server must listen on \$PORT, which is \d+/);
  assert.equal(await client.complete(true), "v1");
  await service.until(({ status }) => status === "READY");
  await service.down();
});
