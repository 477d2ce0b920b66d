import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listEvents } from "../../../control/events.ts";
import { aCluster, aLifecycle, aNode } from "../../helpers/clusters.ts";
import { testWorld } from "../../helpers/world.ts";
import { off, pair, testPlans } from "./planning.ts";

const task = "num_nodes: 2\nrun: echo hi";
const starting = { ...pair, status: "INIT" } as const;
const pending = { state: "pending", agent: "off", reason: "12 jobs are before it" } as const;

testPlans([
  [
    "a pending node is awaited",
    starting,
    [aNode(0), aNode(1, pending)],
    [[{ do: "await", why: "node 1 pending: 12 jobs are before it" }]],
  ],
  [
    "others are created beside a pending node",
    starting,
    [aNode(0, pending)],
    [[{ do: "create", rank: 1 }]],
  ],
  [
    "a pending node is taken out of the queue by a stop, and one that is off is left alone",
    { ...starting, wanted: "STOPPED" },
    [aNode(0, pending), aNode(1, off)],
    [[{ do: "stop", nodeId: "c1-0" }]],
    [aLifecycle({ status: "LEAVING" })],
  ],
]);

test("a launch waits for pending nodes, says why once, and goes on", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const prepared: string[] = [];
  const prepare = async ({ name, nodes }: { name: string; nodes: number }) =>
    void prepared.push(`${name} ${nodes} after ${provider.calls.length}`);
  Object.assign(provider, { queues: true, prepare, waitsFor: "12 jobs are before it" });
  const launch = await world.call(rows.launch, { cluster_name: "demo", task });
  await provider.created(1);
  for (const _ of [1, 2]) await world.look("demo");

  const { id, status, problem } = await world.cluster("demo");
  const remarks = await listEvents(world.ctx.db, "cluster", id, { kinds: ["remarks"], limit: 9 });
  const isWatched = world.ctx.watches.has(id);
  provider.waitsFor = undefined;
  await world.look("demo");
  await world.get(rows.launch, launch);

  assert.deepEqual([status, problem, isWatched], ["INIT", null, false]);
  const why = "node 0 and 1 more pending: 12 jobs are before it";
  assert.deepEqual(
    remarks.map(({ reason }) => reason),
    [why],
  );
  assert.match(await world.printed(launch), /node 0 and 1 more pending: 12 jobs are before it/);
  assert.deepEqual(prepared, ["demo 2 after 0"]);
});

test("nodes that run are still watched while the replacement of another is pending", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  await world.run(rows.launch, { cluster_name: "demo", task });
  const { id } = await world.cluster("demo");
  Object.assign(provider, { queues: true, waitsFor: "12 jobs are before it" });

  await provider.lose(id, 1);
  await world.untilStatus("demo", "INIT");
  for (const _ of [1, 2]) await world.look("demo");

  const [remark] = await listEvents(world.ctx.db, "cluster", id, { kinds: ["remarks"], limit: 1 });
  assert.equal(remark?.reason, "node 1 pending: 12 jobs are before it");
  assert.equal(world.ctx.watches.has(id), true);
});

test("what refuses a cluster as a whole has the next offer tried", async (t) => {
  const world = await testWorld(t);
  const { provider } = world;
  const offer = provider.offer ?? aCluster().offer;
  provider.otherOffers = [
    { ...offer, infra: "fake/dear", instanceType: "dear", dollarsPerHour: 9 },
  ];
  const prepare = async (cluster: { offer: { infra: string } }) => {
    if (cluster.offer.infra === "fake")
      throw new AppError("ResourcesUnavailableError", "no two of them", { refusal: "capacity" });
  };
  Object.assign(provider, { prepare });

  await world.run(rows.launch, { cluster_name: "demo", task });

  assert.equal((await world.cluster("demo")).offer.infra, "fake/dear");
  assert.deepEqual(provider.calls.toSorted(), ["create 0", "create 1"]);
});
