import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../common/errors.ts";
import { clusterOperations as rows } from "../../contract/operations/clusters.ts";
import { findAttempt, listAttempts } from "../../control/attempts.ts";
import { testWorld } from "../helpers/world.ts";
import { writable } from "../helpers/writable.ts";

const down = { cluster_name: "demo" };
const closed = new AppError("CloudError", "the cloud is closed");

test("how often a pass failed, why, and when the next is due outlives control", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...down, task: "run: echo hi" });
  const { id } = await world.cluster("demo");
  world.provider.fails("destroy", closed);
  await assert.rejects(world.run(rows.down, down), { message: closed.message });
  const first = await world.untilAttempt("demo", 0);
  const attempt = await world.untilAttempt("demo", first.failedAt);

  assert.equal(attempt.failures, first.failures + 1);
  assert.equal(attempt.reason, closed.message);
  assert.ok(attempt.dueAt > attempt.failedAt);

  const after = await world.crash();
  const next = await after.untilAttempt("demo", attempt.failedAt);
  assert.ok(next.failures > attempt.failures, "it goes on counting");
  world.provider.fails("destroy", undefined);
  await after.untilStatus("demo", "GONE");
  await after.look("demo");
  assert.equal(await findAttempt(after.ctx.db, "cluster", id), undefined);
});

test("an attempt that is due far in the future, as the clock was set, is due soon", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...down, task: "run: echo hi" });
  const { id } = await world.cluster("demo");
  const attempt = { failures: 1, reason: "r", failed_at: 0, due_at: Number.MAX_SAFE_INTEGER };
  await writable(world.ctx)
    .insertInto("attempts")
    .values({ noun: "cluster", subject_id: id, ...attempt })
    .execute();

  const after = await world.crash();

  await after.untilWell("demo");
  assert.deepEqual(await listAttempts(after.ctx.db, "cluster"), []);
});
