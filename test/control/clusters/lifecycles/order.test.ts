import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredLifecycle } from "../../../../control/clusters/lifecycles/schema.ts";
import {
  findLifecycle,
  listLifecycles,
  putLifecycle,
} from "../../../../control/clusters/lifecycles/store.ts";
import { testWorld } from "../../../helpers/world.ts";

const aLifecycle = (id: string, startedAt: number): StoredLifecycle => ({
  ...{ id, startedAt, clusterId: "c", rank: 0, revision: 1, events: ["stop"], cause: "user" },
  ...{ because: "a test", status: "DONE", skipsHooks: false, hooks: 0, runs: [], deadlineAt: null },
  endedAt: startedAt,
});

test("the newest lifecycle is the one that was told of last, whatever its node's clock said", async (t) => {
  const { ctx } = await testWorld(t);
  const first = aLifecycle("first", 9_000_000);
  const second = aLifecycle("second", 1_000);
  for (const one of [first, second, { ...first, revision: 9 }])
    await ctx.batch((tx) => putLifecycle(tx, one));

  const listed = await listLifecycles(ctx.db, "c");

  assert.deepEqual(
    listed.map(({ id }) => id),
    ["second", "first"],
  );
  assert.equal((await findLifecycle(ctx.db, first))?.revision, 9);
});
