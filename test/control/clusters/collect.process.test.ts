import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { copyFileOf } from "../../../control/clusters/hooks/log-copy.ts";
import { putLifecycle } from "../../../control/clusters/lifecycles/store.ts";
import { collect } from "../../../control/collector.ts";
import { openCopy } from "../../../control/log-copy.ts";
import { aLifecycle } from "../../helpers/clusters.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

const name = { cluster_name: "demo" };
const demo = { ...name, task: "run: 'true'" };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const foldersOf = ({ home }: World) => readdirSync(join(home, "control/clusters"));
const historyOf = async ({ ctx: { db } }: World) => ({
  clusters: (await db.selectFrom("clusters").select("name").execute()).map((row) => row.name),
  usage: (await db.selectFrom("usage_intervals").selectAll().execute()).length,
  events: (await db.selectFrom("events").selectAll().execute()).length,
  lifecycles: (await db.selectFrom("lifecycles").selectAll().execute()).length,
});

test("clusters that are gone for long are forgotten, with all that was kept of them", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...demo, cluster_name: "stays" });
  const before = await historyOf(world);
  await world.run(rows.launch, { ...demo, task: "{config: {hooks: [{run: save}]}, run: 'true'}" });
  const { id } = await world.cluster("demo");
  await world.run(rows.down, name);

  world.advance(29 * dayMs);
  await collect(world.ctx);
  assert.equal((await historyOf(world)).clusters.length, 2);
  assert.ok(existsSync(join(world.home, "control/clusters", id, "hooks")));
  world.advance(2 * dayMs);
  await collect(world.ctx);

  assert.deepEqual(await historyOf(world), before);
  assert.deepEqual(foldersOf(world), [(await world.cluster("stays")).id]);
});

test("a cluster is not forgotten while a node of it may still arrive, whatever the setting says", async (t) => {
  const world = await testWorld(t, { config: { clusterHistoryDays: 0 } });
  await world.run(rows.launch, demo);
  await world.run(rows.down, name);

  world.advance(0.7 * hourMs);
  await collect(world.ctx);
  assert.deepEqual((await historyOf(world)).clusters, ["demo"]);
  world.advance(0.1 * hourMs);
  await collect(world.ctx);

  assert.deepEqual((await historyOf(world)).clusters, []);
});

test("of a live cluster only the lifecycles are kept that can be shown", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  await world.run(rows.launch, demo);
  const { id: clusterId } = await world.cluster("demo");
  const names = [...Array(105).keys()].map((number) => `l${number}`);
  for (const [startedAt, id] of names.entries()) {
    const endedAt = id === "l1" ? null : startedAt;
    await putLifecycle(writable(ctx), aLifecycle({ id, clusterId, startedAt, endedAt }));
    await using _ = await openCopy(
      copyFileOf(ctx, { clusterId, lifecycleId: id, event: "stop", rank: 0 }),
    );
  }
  const worker = { id: "worker", clusterId, rank: 1, endedAt: 0 };
  await putLifecycle(writable(ctx), aLifecycle(worker));
  await putLifecycle(
    writable(ctx),
    aLifecycle({ id: "../../..", clusterId, startedAt: -1, endedAt: 0 }),
  );

  await collect(ctx);

  const kept = (await ctx.db.selectFrom("lifecycles").select("id").execute()).map(({ id }) => id);
  const wanted = [...names.slice(5), "l1", "worker"];
  assert.deepEqual(kept.toSorted(), wanted.toSorted());
  const folders = readdirSync(join(world.home, "control/clusters", clusterId, "hooks"));
  assert.deepEqual(folders.toSorted(), wanted.filter((id) => id !== "worker").toSorted());
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
