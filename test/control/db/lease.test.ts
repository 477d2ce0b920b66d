import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { openBatch } from "../../../control/db/batch.ts";
import { takeLease } from "../../../control/db/lease.ts";
import { openDatabase } from "../../../control/db/open.ts";
import { addEvent, lastSeq } from "../../../control/events.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const event = { noun: "cluster", id: "a", reason: "r", at: new Date(0) } as const;

test("whoever was overtaken writes nothing any more, and hears of it", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const startedAt = Date.now();
  const first = await takeLease(db);
  const second = await takeLease(db);
  const old = openBatch(db, { before: first.check });

  const late = Promise.allSettled([
    old((tx) => addEvent(tx, event)),
    old((tx) => addEvent(tx, event)),
  ]);
  await openBatch(db, { before: second.check })((tx) => addEvent(tx, event));

  for (const outcome of await late) {
    assert.equal(outcome.status, "rejected");
    assert.equal(outcome.reason.name, "LeaseLostError");
  }
  assert.equal((await first.lost).name, "LeaseLostError");
  assert.equal(await lastSeq(db), 1);
  // Also later than those of a database that this one is an older copy of.
  assert.ok(second.epoch > first.epoch && first.epoch >= startedAt);
});

test("a pass of a control plane that was overtaken moves nothing", async (t) => {
  const world = await testWorld(t);
  const release = world.provider.holds("create");
  await world.call(rows.launch, { cluster_name: "demo", task: "run: echo hi" });
  await world.provider.held("create");

  await writable(world.ctx).updateTable("lease").set({ epoch: 99 }).execute();
  release();
  await world.ctx.lease.lost;

  assert.deepEqual(await world.moves("demo"), []);
});
