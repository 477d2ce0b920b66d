import assert from "node:assert/strict";
import { test } from "node:test";
import { fail } from "../../../../common/errors.ts";
import { serveOperations as rows } from "../../../../contract/operations/serve.ts";
import { until } from "../../../helpers/agent.ts";
import type { FakeNode } from "../../../helpers/fake-node.ts";
import { aTask, serviceBed, withService } from "../bed.ts";

const missing = "file_mounts_mapping: {here: blob/here}\nworkdir: here";

test("a replica whose task cannot be handed in fails and says why, instead of being made for ever", async (t) => {
  const bed = await withService(t, aTask("", missing));

  const { reason } = await bed.untilReplica(1, "FAILED_PROVISION");

  assert.match(reason, /^its task cannot be submitted: .*uploaded files/);
});

test("a service whose files did not come is refused at once, and so is an update", async (t) => {
  const bed = await serviceBed(t);
  const task = aTask("", "workdir: here");
  const didNotCome = /workdir: here was not uploaded/;

  await assert.rejects(bed.world.run(rows.up, { task, service_name: "chat" }), didNotCome);
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });
  const update = { task, service_name: "chat", mode: "rolling" } as const;
  await assert.rejects(bed.world.run(rows.update, update), didNotCome);
});

for (const type of ["TimeoutError", "DiskFullError"] as const)
  test(`a replica whose cluster meets a ${type} waits for it`, async (t) => {
    const bed = await serviceBed(t);
    const { provider } = bed.world;
    const { create } = provider;
    let isInTrouble = true;
    provider.create = (...given) => (isInTrouble ? fail(type, "not now") : create(...given));
    await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });

    const says = /^waits for its cluster: not now/;
    await until(async () => says.test((await bed.replica(1)).reason) || undefined);
    isInTrouble = false;

    await bed.untilReady(1);
  });

test("a replica whose machine is pending says what it waits for", async (t) => {
  const bed = await serviceBed(t);
  const { provider } = bed.world;
  Object.assign(provider, { queues: true, waitsFor: "12 jobs are before it" });
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });

  const says = "waits for its cluster: node 0 pending: 12 jobs are before it";
  await until(async () => (await bed.replica(1)).reason === says || undefined);
  provider.waitsFor = undefined;

  await bed.untilReady(1);
});

test("a replica whose cluster cannot be written to a full disk is tried again", async (t) => {
  const bed = await serviceBed(t);
  const { provider, ctx } = bed.world;
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });
  await bed.untilReady(1, 2);
  const { batch } = ctx;
  const { offers } = provider;
  const full: string[] = [];
  let isFull = false;
  provider.offers = async (...given) => {
    isFull = full.length === 0;
    return offers(...given);
  };
  const write: typeof batch = async (work) => {
    if (!isFull) return batch(work);
    isFull = false;
    full.push("once");
    return fail("DiskFullError", "no room");
  };
  Object.assign(ctx, { batch: write });

  await bed.world.run(rows.terminateReplica, { service_name: "chat", replica_id: 1 });

  await bed.untilReady(3);
  assert.deepEqual(full, ["once"]);
});

test("a replica whose node does not take its task for now says so, and gets it later", async (t) => {
  const bed = await serviceBed(t);
  const { provider } = bed.world;
  const { create } = provider;
  const nodes: FakeNode[] = [];
  provider.create = async (cluster, rank, ...rest) => {
    await create(cluster, rank, ...rest);
    const { node } = provider.machines.get(`${cluster.id}-${rank}`) ?? assert.fail("no node");
    nodes.push(node);
    node.onCall = (name) => {
      if (name === "submit") fail("TimeoutError", "too busy");
    };
  };
  await bed.world.run(rows.up, { task: aTask(), service_name: "chat" });

  const says = /^waits to submit its task: .*too busy/;
  await until(async () => says.test((await bed.replica(1)).reason) || undefined);
  for (const node of nodes) node.onCall = () => {};

  await bed.untilReady(1);
});
