import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { collectClusters } from "../../../control/clusters/collect.ts";
import { adoptLifecycles } from "../../../control/clusters/lifecycles/adopt.ts";
import { leave } from "../../../control/clusters/lifecycles/leave.ts";
import {
  listGoingOn,
  listLifecycles,
  listOpen,
  putLifecycle,
} from "../../../control/clusters/lifecycles/store.ts";
import { takeBack, wantCluster } from "../../../control/clusters/want.ts";
import { obsolete } from "../../../control/reconciler.ts";
import { aLifecycle } from "../../helpers/clusters.ts";
import { aRun } from "../../helpers/lifecycles.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";
import { name, withHooks } from "./hooked-cluster.ts";

/** What holds when two write at once. */

const neverAborts = new AbortController().signal;

test("whoever wants a cluster stopped does not undo that it is taken down", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);

  await wantCluster(db, id, { wanted: "GONE", because: "down" });
  await wantCluster(db, id, { wanted: "STOPPED", because: "stop" });

  assert.equal((await world.cluster("demo")).wantedBecause, "down");
});

test("that hooks are skipped stays with the wish, and goes with it", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);
  const skips = async (wanted: "STOPPED" | "GONE" | "UP", skipHooks?: boolean) => {
    await wantCluster(db, id, { wanted, because: "me", ...(skipHooks && { skipHooks }) });
    return (await world.cluster("demo")).skipHooks;
  };

  assert.equal(await skips("STOPPED", true), true);
  assert.equal(await skips("STOPPED"), true);
  assert.equal(await skips("GONE"), false);
  assert.equal(await skips("GONE", true), true);
  assert.equal(await skips("UP"), false);
});

test("nothing is taken back but what is wanted, and not once the nodes leave", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);
  const back = (wanted: "STOPPED" | "GONE" | "UP") =>
    takeBack(db, { id, wanted }, { because: "back" });
  await world.reconciling.stop();
  assert.equal(await back("UP"), false);
  await wantCluster(db, id, { wanted: "STOPPED", because: "stop" });
  assert.equal(await back("GONE"), false);

  await putLifecycle(db, aLifecycle({ clusterId: id, status: "LEAVING" }));
  assert.equal(await back("STOPPED"), false);
  await putLifecycle(db, aLifecycle({ clusterId: id, status: "READY" }));
  assert.equal(await back("STOPPED"), true);

  const { wanted, wantedBecause } = await world.cluster("demo");
  assert.deepEqual([wanted, wantedBecause], ["UP", "back"]);
});

test("nodes do not leave for a stop that was taken back a moment ago", async (t) => {
  const { world, id, hookRuns, untilLifecycle } = await withHooks(t, { holds: true });
  const stop = await world.call(rows.stop, name);
  await hookRuns();
  await untilLifecycle(({ runs }) => runs.length > 0);
  const seen = await world.cluster("demo");
  await world.reconciling.stop();
  await world.cancel(stop);

  await assert.rejects(leave(world.ctx, seen), obsolete);

  assert.deepEqual(
    (await listOpen(world.ctx.db, id)).map(({ status }) => status),
    ["HOOKS"],
  );
});

test("a stop that an idle one forestalls at the head is that one", async (t) => {
  const { world, agent, id, untilLifecycle } = await withHooks(t, {
    launch: { idle_minutes_to_autostop: 5 },
  });
  const { node } = agent();
  const forestall = agent().becomeIdle;
  node.onBegin = () => {
    node.onBegin = () => {};
    node.holdsHooks = true;
    forestall();
  };
  world.ctx.watches.forget(id);

  const stop = await world.call(rows.stop, name);
  await untilLifecycle(({ runs }) => runs.length > 0);
  agent().endHook();
  await world.get(rows.stop, stop);

  const known = await listLifecycles(world.ctx.db, id);
  assert.deepEqual(
    known.map((one) => one.id),
    node.lifecycles.map((one) => one.id),
  );
});

test("a lifecycle on its way to the head is not taken for one that is over", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);
  await world.reconciling.stop();
  await wantCluster(db, id, { wanted: "STOPPED", because: "stop" });
  await putLifecycle(db, aLifecycle({ clusterId: id }));
  const cluster = await world.cluster("demo");

  await adoptLifecycles(world.ctx, cluster, 0, neverAborts);
  assert.equal((await listOpen(db, id)).length, 1);

  await wantCluster(db, id, { wanted: "UP", because: "back" });
  await adoptLifecycles(world.ctx, cluster, 0, neverAborts);
  assert.equal((await listOpen(db, id)).length, 0);
});

test("the lifecycles of a cluster are listed newest first, and found open in one look", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);
  await world.reconciling.stop();
  const older = aLifecycle({
    id: "older",
    clusterId: id,
    startedAt: 1,
    endedAt: 2,
    status: "DONE",
  });
  const newer = aLifecycle({ id: "newer", clusterId: id, startedAt: 3, skipsHooks: true });

  for (const one of [older, newer]) await putLifecycle(db, one);

  assert.deepEqual(await listLifecycles(db, id), [newer, older]);
  assert.deepEqual(await listGoingOn(db, [id], 4), new Map([[id, [newer]]]));
});

test("a lifecycle that was taken back goes on as long as its hook may run", async (t) => {
  const { world, id } = await withHooks(t);
  const db = writable(world.ctx);
  const more = { clusterId: id, status: "CANCELLED", startedAt: 5, endedAt: 9 } as const;
  const ended = aLifecycle({ ...more, id: "ended", runs: [aRun({ status: "SUCCEEDED" })] });
  const running = aLifecycle({ ...more, id: "running", runs: [aRun({ timeoutSeconds: 60 })] });
  const open = aLifecycle({ id: "open", clusterId: id, startedAt: 2 });
  for (const one of [ended, running, open]) await putLifecycle(db, one);
  const idsAt = async (at: number) =>
    (await listGoingOn(db, [id], at)).get(id)?.map((one) => one.id) ?? [];

  assert.deepEqual(await idsAt(10), ["open", "running"]);
  assert.deepEqual(await idsAt(80_000), ["open"], "its node was not heard of again");
});

test("a lifecycle is forgotten with its cluster", async (t) => {
  const { world, id } = await withHooks(t);
  await world.run(rows.down, name);
  assert.equal((await listLifecycles(world.ctx.db, id)).length, 1);
  world.advance(40 * 86_400_000);

  await collectClusters(world.ctx);

  assert.deepEqual(await listLifecycles(world.ctx.db, id), []);
});

test("a call that cannot write down its wish leaves none", async (t) => {
  const world = await testWorld(t, { mayFail: true });
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  await sql`create trigger full before update of progress on requests when new.progress is not null
    begin select raise(abort, 'no room'); end`.execute(world.ctx.db);

  await assert.rejects(world.run(rows.stop, name));

  assert.equal((await world.cluster("demo")).wanted, "UP");
});
