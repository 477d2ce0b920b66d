import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterMachine } from "../../contract/statuses.ts";
import { addCluster, findCluster } from "../../control/clusters/store.ts";
import { move } from "../../control/move.ts";
import { want } from "../../control/want.ts";
import { aCluster } from "../helpers/clusters.ts";
import { testWorld } from "../helpers/world.ts";
import { writable } from "../helpers/writable.ts";

test("of two who move a row at once one is first; there is one event", async (t) => {
  const { ctx } = await testWorld(t);
  const cluster = aCluster({ status: "INIT", wanted: "STOPPED" });
  await addCluster(writable(ctx), cluster);

  const moved = await Promise.all([
    move(ctx, clusterMachine, cluster, "STOPPED", "one"),
    move(ctx, clusterMachine, cluster, "STOPPED", "two"),
  ]);

  assert.deepEqual(moved, [true, false]);
  const events = await ctx.db.selectFrom("events").select("reason").execute();
  assert.deepEqual(
    events.map(({ reason }) => reason),
    ["one"],
  );
});

test("a row is not moved for a wish that was replaced meanwhile", async (t) => {
  const { ctx } = await testWorld(t);
  const seen = aCluster({ status: "STOPPED", wanted: "UP" });
  await addCluster(writable(ctx), seen);
  await want(writable(ctx), "cluster", seen.id, { wanted: "GONE", because: "down by ann" });

  assert.equal(await move(ctx, clusterMachine, seen, "INIT", "start by ann"), false);

  assert.equal((await findCluster(ctx.db, seen.id))?.status, "STOPPED");
  assert.deepEqual(await ctx.db.selectFrom("events").selectAll().execute(), []);
});

test("a row with its final status is wanted to be nothing else", async (t) => {
  const { ctx } = await testWorld(t);
  const gone = aCluster({ status: "GONE", wanted: "GONE" });
  await addCluster(writable(ctx), gone);

  assert.equal(
    await want(writable(ctx), "cluster", gone.id, { wanted: "UP", because: "start" }),
    false,
  );
  assert.equal((await findCluster(ctx.db, gone.id))?.wanted, "GONE");
});

test("a move that the table does not allow is refused", async (t) => {
  const { ctx } = await testWorld(t);

  await assert.rejects(move(ctx, clusterMachine, aCluster({ status: "GONE" }), "UP", "magic"), {
    type: "StatusError",
    message: "a cluster cannot go from GONE to UP",
  });
});

test("what changes along with a status fails along with it", async (t) => {
  const { ctx } = await testWorld(t);
  const cluster = aCluster({ status: "STOPPED", wanted: "STOPPED" });
  await addCluster(writable(ctx), cluster);

  const moving = move(ctx, clusterMachine, cluster, "INIT", "start", {
    also: () => Promise.reject(new Error("boom")),
  });

  await assert.rejects(moving, /boom/);
  assert.equal((await findCluster(ctx.db, cluster.id))?.status, "STOPPED");
  assert.deepEqual(await ctx.db.selectFrom("events").selectAll().execute(), []);
});
