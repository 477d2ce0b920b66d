import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { fail } from "../../../../common/errors.ts";
import { clusterOperations as rows } from "../../../../contract/operations/clusters.ts";
import { keepParcels } from "../../../../control/clusters/files/kept.ts";
import { listParcels } from "../../../../control/clusters/files/store.ts";
import { collect } from "../../../../control/collector.ts";
import { testWorld, type World } from "../../../helpers/world.ts";
import { idOf, zipOf } from "../../uploads/zips.ts";

const files = { "w/a": "text", m: "mounted" };
const blob = idOf(files);
const userId = "local";
const workdir = "~/outrigger_workdir";
const task = JSON.stringify({
  num_nodes: 2,
  workdir: "/w",
  file_mounts: { "~/m": "/m" },
  file_mounts_mapping: { "/w": "/w", "/m": "/m" },
  run: "true",
});
const launch = { cluster_name: "two", task, file_mounts_blob_id: blob };
const mount = { name: "~/n", destination: "~/n", userId, blobId: blob, place: "/m" };

async function upload({ ctx }: World, blobId: string | null, uploadId = "one"): Promise<void> {
  const bytes = await zipOf(files);
  await ctx.uploads.take(userId, blobId, { uploadId, index: 0, total: 1 }, Readable.from([bytes]));
}

/** A cluster of two nodes that have files, of which the second is gone. */
async function withLoss(world: World) {
  await upload(world, blob);
  await world.run(rows.launch, launch);
  const { id } = await world.cluster("two");
  const nodeOf = (rank: number) =>
    world.provider.machines.get(`${id}-${rank}`)?.node ?? assert.fail(`no node ${rank}`);
  nodeOf(0).offered.splice(0);
  await world.provider.lose(id, 1);
  world.provider.agentsStart = false;
  const { create } = world.provider;
  /** Has the lost node made anew; what is set before is there when its agent answers. */
  const repair = async (prepare: (node: ReturnType<typeof nodeOf>) => void = () => {}) => {
    const prepared: typeof create = async (...given) => {
      await create(...given);
      prepare(nodeOf(given[1]));
      world.provider.agentsStart = true;
      await create(...given);
    };
    Object.assign(world.provider, { create: prepared });
    await world.look("two");
  };
  return { id, nodeOf, repair };
}

test("a node that is made anew gets its files before it learns its place, and it alone", async (t) => {
  const world = await testWorld(t);
  const { id, nodeOf, repair } = await withLoss(world);
  const places: unknown[] = [];
  const { settings } = nodeOf(0);
  nodeOf(0).settings = settings && { ...settings, addresses: ["10.0.0.0", "10.0.0.9"] };

  await repair((node) => {
    node.onOffer = () => void places.push(node.settings);
  });

  assert.equal((await world.cluster("two")).status, "UP");
  assert.deepEqual(nodeOf(0).settings, settings);
  assert.deepEqual(nodeOf(1).offered, [workdir, "~/m"]);
  assert.deepEqual(places, [null, null]);
  assert.deepEqual(nodeOf(0).offered, []);
  const { calls } = world.provider.agentOf(id, 1);
  assert.equal(calls.filter((name) => name === "configure").length, 1);
});

test("nodes that were off have their files, and are offered none", async (t) => {
  const world = await testWorld(t);
  await upload(world, blob);
  await world.run(rows.launch, launch);
  const { id } = await world.cluster("two");
  await world.run(rows.stop, { cluster_name: "two" });
  await world.run(rows.start, { cluster_name: "two" });

  const node = world.provider.machines.get(`${id}-1`)?.node;
  assert.deepEqual(node?.offered, [workdir, "~/m"]);
});

test("control that was killed while it brought them begins again", async (t) => {
  const world = await testWorld(t);
  const { nodeOf, repair } = await withLoss(world);
  const { promise: offered, resolve } = Promise.withResolvers<void>();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  void repair((node) => {
    node.onOffer = () => {
      resolve();
      return held;
    };
  });
  await offered;
  const again = await world.crash();
  nodeOf(1).onOffer = () => {};
  release();

  await again.look("two");
  assert.equal((await again.cluster("two")).status, "UP");
  assert.deepEqual(nodeOf(1).offered, [workdir, workdir, "~/m"]);
});

test("an agent that dies while it is offered files is started again, and offered them again", async (t) => {
  const world = await testWorld(t);
  const { id, nodeOf, repair } = await withLoss(world);

  await repair((node) => {
    if (node.offered.length > 0) return;
    node.onOffer = () => {
      node.onOffer = () => {};
      void world.provider.silence(id, 1);
    };
  });

  assert.equal((await world.cluster("two")).status, "UP");
  assert.equal((await world.cluster("two")).problem, null);
  assert.deepEqual(nodeOf(1).offered, [workdir, workdir, "~/m"]);
});

test("what somebody brings meanwhile is brought, too", async (t) => {
  const world = await testWorld(t);
  const { id, nodeOf, repair } = await withLoss(world);

  await repair((node) => {
    node.onOffer = async () => {
      node.onOffer = () => {};
      await keepParcels(world.ctx, id, [mount], false);
    };
  });

  assert.deepEqual(nodeOf(1).offered, [workdir, "~/m", workdir, "~/m", "~/n"]);
});

test("a node that cannot have what the others have learns no place; the cluster says why", async (t) => {
  const world = await testWorld(t);
  const { nodeOf, repair } = await withLoss(world);
  let isFull = true;

  await repair((node) => {
    node.onOffer = () => (isFull ? fail("RuntimeError", "the disk is full") : undefined);
  });

  const { status, problem } = await world.cluster("two");
  assert.equal(status, "INIT");
  assert.equal(problem?.message, "workdir is not on node 1 of two: the disk is full");
  assert.equal(nodeOf(1).settings, null);
  isFull = false;
  await world.look("two");
  assert.equal((await world.cluster("two")).status, "UP");
});

test("what never arrived holds up no repair", async (t) => {
  const world = await testWorld(t);
  const { id, nodeOf, repair } = await withLoss(world);
  await keepParcels(world.ctx, id, [mount], false);

  await repair((node) => {
    node.onOffer = () => (node.offered.includes("~/n") ? fail("ValueError", "in vain") : undefined);
  });

  assert.equal((await world.cluster("two")).status, "UP");
  assert.deepEqual(nodeOf(1).offered, [workdir, "~/m", "~/n"]);
});

test("a launch whose files cannot be brought leaves them as on their way", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  await world.run(rows.launch, { cluster_name: "two", task: "num_nodes: 2" });
  await upload(world, blob);
  const { id } = await world.cluster("two");
  const head = world.provider.machines.get(`${id}-0`)?.node ?? assert.fail("no head");
  head.onOffer = () => fail("PermissionDeniedError", "not there");

  await assert.rejects(world.run(rows.launch, launch), { type: "PermissionDeniedError" });
  const states = async () =>
    (await listParcels(ctx.db, ctx.seal, id)).map(({ hasArrived }) => hasArrived);
  assert.deepEqual(await states(), [false, false]);
  head.onOffer = () => {};
  await world.run(rows.launch, launch);
  assert.deepEqual(await states(), [true, true]);
});

test("whoever wants the cluster gone does not wait for files on their way", async (t) => {
  const world = await testWorld(t);
  const { repair } = await withLoss(world);
  const { promise: offered, resolve } = Promise.withResolvers<void>();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  void repair((node) => {
    node.onOffer = () => {
      resolve();
      return held;
    };
  });
  await offered;

  await world.run(rows.down, { cluster_name: "two" });
  assert.equal((await world.cluster("two")).status, "GONE");
  release();
});

test("uploads stay for as long as a cluster needs them for its next node", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  await upload(world, null);
  await world.run(rows.launch, { ...launch, file_mounts_blob_id: null });
  const { id } = await world.cluster("two");
  const [kept] = await listParcels(ctx.db, ctx.seal, id);
  const blobId = kept !== undefined && "blobId" in kept ? kept.blobId : "";
  const day = 25 * 3_600_000;

  world.advance(day);
  await collect(ctx);
  assert.equal((await (await ctx.uploads.open(userId, blobId))?.entries())?.length, 2);
  await world.run(rows.down, { cluster_name: "two" });
  world.advance(day);
  await collect(ctx);
  assert.equal(await ctx.uploads.open(userId, blobId), undefined);
});
