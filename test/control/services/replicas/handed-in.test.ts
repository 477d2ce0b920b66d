import assert from "node:assert/strict";
import { test } from "node:test";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { aTask, serviceBed, withService } from "../bed.ts";

const missing = "file_mounts_mapping: {here: blob/here}\nworkdir: here";

test("a replica whose task cannot be handed in fails and says why, instead of being made for ever", async (t) => {
  const bed = await withService(t, aTask("", missing));

  const { reason } = await bed.untilReplica(1, "FAILED_PROVISION");

  assert.match(reason, /^its task cannot be handed in: .*uploaded files/);
});

test("a service whose files did not come is refused at once, and so is an update", async (t) => {
  const bed = await serviceBed(t);
  const task = aTask("", "workdir: here");
  const didNotCome = /workdir: here did not come/;

  await assert.rejects(bed.world.run(rows.up, { task, service_name: "chat" }), didNotCome);
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });
  const update = { task, service_name: "chat", mode: "rolling" } as const;
  await assert.rejects(bed.world.run(rows.update, update), didNotCome);
});
