import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { serveOperations as rows } from "../../../contract/operations/serve.ts";
import { collectServices } from "../../../control/services/collect.ts";
import { serviceFolder } from "../../../control/services/folders.ts";
import { findService } from "../../../control/services/store.ts";
import type { World } from "../../helpers/world.ts";
import { aTask, withService } from "./bed.ts";

const dayMs = 86_400_000;

test("a service that is gone is forgotten with its logs after the time of the setting", async (t) => {
  const { world, service } = await withService(t);
  const { ctx } = world;
  const { id } = await service();
  await world.run(rows.down, { service_names: "chat", all: false });
  const isKnown = async () => [
    (await findService(ctx.db, id)) !== undefined,
    existsSync(serviceFolder(ctx, id)),
    (await ctx.db.selectFrom("replicas").select("id").execute()).length > 0,
    (await eventsOf(world, "service")) > 0,
    (await eventsOf(world, "replica")) > 0,
    (await ctx.db.selectFrom("service_versions").select("version").execute()).length > 0,
  ];

  world.advance(29 * dayMs);
  await collectServices(ctx);
  assert.deepEqual(await isKnown(), [true, true, true, true, true, true]);

  world.advance(2 * dayMs);
  await collectServices(ctx);
  assert.deepEqual(await isKnown(), [false, false, false, false, false, false]);
});

const eventsOf = async ({ ctx }: World, noun: string) =>
  (await ctx.db.selectFrom("events").select("seq").where("noun", "=", noun).execute()).length;

test("services that live are not forgotten, and a negative time forgets none", async (t) => {
  const { world, service } = await withService(t, undefined, {
    config: { clusterHistoryDays: -1 },
  });
  const { id } = await service();
  await world.run(rows.up, { task: aTask(), service_name: "b" });
  await world.run(rows.down, { service_names: "chat", all: false });

  world.advance(1_000 * dayMs);
  await collectServices(world.ctx);

  assert.equal((await findService(world.ctx.db, id))?.status, "GONE");
});
