import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOperations as rows } from "../../../contract/operations/clusters.ts";
import { listLifecycles } from "../../../control/clusters/lifecycles/store.ts";
import { testWorld } from "../../helpers/world.ts";
import { hooked } from "./hooked-cluster.ts";

const task = `${hooked}resources: {image_id: "docker:lab/none"}`;
const refusal = { type: "NotFoundError", message: "image lab/none: there is no such image" };

test("a cluster whose image cannot be had is removed, and no hook runs outside of it", async (t) => {
  const world = await testWorld(t);

  await assert.rejects(world.run(rows.launch, { cluster_name: "demo", task }), refusal);

  await world.untilStatus("demo", "GONE");
  const { id } = await world.cluster("demo");
  const [lifecycle] = await listLifecycles(world.ctx.db, id);
  assert.equal(lifecycle?.skipsHooks, true);
});
