import assert from "node:assert/strict";
import { test } from "node:test";
import {
  beginLifecycle,
  beginPreemption,
  cancelLifecycle,
  confirmLogs,
  getLifecycle,
  getRow,
  moveLifecycle,
} from "../../../agent/lifecycles/lifecycles.ts";
import type { LifecycleOrder } from "../../../contract/lifecycle-shapes.ts";
import { aWorld } from "../world.ts";

const id = "one";

const anOrder = (event: LifecycleOrder["event"]): LifecycleOrder => ({
  ...{ id, event, cause: "user", because: `${event} by ann`, deadlineAt: null, skipHooks: false },
});

test("each change of a lifecycle raises its revision, also several within a millisecond", (t) => {
  const { world } = aWorld(t);
  const told = [
    beginLifecycle(world, anOrder("stop")),
    beginPreemption(world, { because: "a notice", deadlineAt: null }),
    beginPreemption(world, { because: "a notice", deadlineAt: world.now() + 1_000 }),
    confirmLogs(world, id),
    cancelLifecycle(world, id),
  ].map(({ revision }) => revision);

  assert.deepEqual(
    told,
    told.map((_, index) => (told[0] ?? 0) + index),
  );
  assert.equal(getLifecycle(world, id).revision, told.at(-1));
});

test("who asks for what is under way already changes nothing", (t) => {
  const { world } = aWorld(t);
  const begun = beginLifecycle(world, anOrder("stop"));

  assert.deepEqual(beginLifecycle(world, anOrder("stop")), begun);
});

test("a stop that was READY and becomes a teardown tells a higher revision, still READY", (t) => {
  const { world } = aWorld(t);
  beginLifecycle(world, anOrder("stop"));
  for (const status of ["JOBS", "READY"] as const)
    moveLifecycle(world, { ...getRow(world, id), status });
  const ready = getLifecycle(world, id);
  const down = beginLifecycle(world, anOrder("down"));

  assert.deepEqual([down.status, down.events], ["READY", ["down"]]);
  assert.ok(down.revision > ready.revision);
});

test("a crash that lost changes which had no room on disk is no step back", (t) => {
  const { world, pass, openNext } = aWorld(t);
  const { revision: saved } = beginLifecycle(world, anOrder("stop"));
  pass(60_000);
  world.journal.db.exec("PRAGMA query_only = ON");
  beginLifecycle(world, anOrder("down"));
  const { revision: lost } = confirmLogs(world, id);
  assert.ok(lost > saved);
  pass(1_000);
  const next = openNext();
  assert.equal(getLifecycle(next, id).revision, saved, "the changes were on disk");

  assert.ok(confirmLogs(next, id).revision > lost);
});
