import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { findService } from "../../../../control/services/store.ts";
import { writable } from "../../../helpers/writable.ts";
import { aTask, withService } from "../bed.ts";

test("a version that cannot be read any more hides no service, and its own can be taken down", async (t) => {
  const before = await withService(t, aTask(), { usually: {} });
  const { id } = await before.service();
  for (const number of [1, 2]) await before.untilReplica(number, "STARTING");
  const { job, world } = before;
  const { id: jobId } = await job(1);
  const { clusterId } = await before.replica(1);
  await writable(world.ctx)
    .updateTable("service_versions")
    .set({ task: Buffer.from("torn") })
    .execute();
  const bed = await before.crash();

  await bed.look();
  await bed.untilService("CONTROLLER_FAILED");
  const { status_reason: why, yaml_content: yaml } = await bed.record();
  bed.world.provider.agentOf(clusterId ?? "").print(jobId, "may be a key");
  bed.world.provider.agentOf(clusterId ?? "").end(jobId, "FAILED");
  const { reason } = await bed.untilReplica(1, "FAILED");
  await bed.world.run(rows.down, { service_names: "chat" });

  assert.match(String(why), /cannot be read/);
  assert.match(String(yaml), /^# .*cannot be read/);
  assert.doesNotMatch(reason, /may be/);
  assert.equal((await findService(bed.world.ctx.db, id))?.status, "GONE");
});
