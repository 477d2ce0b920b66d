import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { collect } from "../../../control/collector.ts";
import { testWorld, type World } from "../../helpers/world.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: 'true'" };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const foldersOf = ({ home }: World) => readdirSync(join(home, "control/clusters"));
const historyOf = async ({ ctx: { db } }: World) => ({
  clusters: (await db.selectFrom("clusters").select("name").execute()).map((row) => row.name),
  usage: (await db.selectFrom("usage_intervals").selectAll().execute()).length,
  events: (await db.selectFrom("events").selectAll().execute()).length,
});

test("clusters that are gone for long are forgotten, with all that was kept of them", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, cluster_name: "stays" });
  const before = await historyOf(world);
  await world.run(rows.launch, demo);
  await world.run(rows.down, name);

  world.advance(29 * dayMs);
  await collect(world.ctx);
  assert.equal((await historyOf(world)).clusters.length, 2);
  world.advance(2 * dayMs);
  await collect(world.ctx);

  assert.deepEqual(await historyOf(world), before);
  assert.deepEqual(foldersOf(world), [(await world.cluster("stays")).id]);
});

test("a negative time remembers clusters for ever", async (t) => {
  const world = await testWorld(t, { config: { clusterHistoryDays: -1 } });
  await world.run(rows.launch, demo);
  await world.run(rows.down, name);

  world.advance(1_000 * dayMs);
  await collect(world.ctx);

  assert.deepEqual((await historyOf(world)).clusters, ["demo"]);
});

test("a copy of a log is deleted a day after it was made", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, demo);
  await world.run(rows.downloadLogs, { ...name, job_ids: ["1"] });
  const copy = join(world.home, "control/clients/local/logs/demo-1");

  world.advance(23 * hourMs);
  await collect(world.ctx);
  assert.ok(existsSync(copy));
  world.advance(2 * hourMs);
  await collect(world.ctx);

  assert.ok(!existsSync(copy));
});
