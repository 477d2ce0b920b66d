import assert from "node:assert/strict";
import { test } from "node:test";
import { startControl } from "../helpers/programs.ts";
import { aService, assertNothingIsLeft, servers, serviceOf } from "./service.ts";

test("of a server that listens elsewhere than on $PORT it is said while it starts", {
  timeout: 300_000,
}, async (t) => {
  const control = await startControl(t);
  const service = serviceOf(control, "elsewhere");
  await service.up(aService(control, { run: `PORT=0; ${servers.node}`, service: { replicas: 1 } }));

  const record = await service.until(({ replica_info: [replica] }) =>
    /it listens on/.test(replica?.status_reason ?? ""),
  );

  const [replica] = record.replica_info;
  const said = `not on \\$PORT, which is ${control.ports.document}: use \\$PORT, or name its port in the task;`;
  assert.match(
    replica?.status_reason ?? "",
    new RegExp(`; it listens on \\d+, ${said} last probe`),
  );
  assert.equal(replica?.status, "STARTING");
  await service.down();
  assertNothingIsLeft(control);
});
