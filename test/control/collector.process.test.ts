import assert from "node:assert/strict";
import { test } from "node:test";
import { collect } from "../../control/collector.ts";
import { listCopies } from "../../control/db/copies.ts";
import { databaseOf } from "../../control/home.ts";
import { testWorld } from "../helpers/world.ts";

test("control copies its database while it serves", async (t) => {
  const world = await testWorld(t);

  world.advance(2 * 3_600_000);
  await collect(world.ctx);

  assert.equal(listCopies(databaseOf(world.home)).length, 1);
});
