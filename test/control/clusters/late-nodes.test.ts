import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { lateNodes } from "../../../control/clusters/late-nodes.ts";
import { listEvents } from "../../../control/events.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { name } from "./hooked-cluster.ts";

/** A creation that was sent before the cluster went away, and arrives afterwards. */

const signal = new AbortController().signal;

async function look({ ctx }: World): Promise<void> {
  const ids = await lateNodes.due(ctx);
  for (const id of ids) await lateNodes.reconcile(ctx, id, signal, ({ run }) => run(signal));
}

test("a node that arrives after its cluster is gone is deleted, and that is told", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  const cluster = await world.cluster("demo");
  await world.run(rows.down, name);

  await world.provider.create(cluster, 0, signal);
  assert.equal(world.provider.machines.size, 1);
  await look(world);

  assert.equal(world.provider.machines.size, 0);
  const [last] = await listEvents(world.ctx.db, "cluster", cluster.id, {
    kinds: ["remarks"],
    limit: 1,
  });
  assert.equal(last?.reason, "node 0 arrived after the cluster was gone, and was deleted");
});

test("nodes of clusters that live are left alone, and those long gone are not asked for", async (t) => {
  const world = await testWorld(t);
  await world.run(rows.launch, { ...name, task: "run: echo hi" });
  const { id } = await world.cluster("demo");

  await lateNodes.reconcile(world.ctx, id, signal, ({ run }) => run(signal));
  assert.equal(world.provider.machines.size, 1);
  await world.run(rows.down, name);
  assert.deepEqual(await lateNodes.due(world.ctx), [id]);
  world.advance(46 * 60_000);
  assert.deepEqual(await lateNodes.due(world.ctx), []);
});
