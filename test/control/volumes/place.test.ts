import assert from "node:assert/strict";
import { test } from "node:test";
import { readVolume } from "../../../contract/volume.ts";
import { withVolumes } from "../../../control/volumes/place.ts";
import { addVolume } from "../../../control/volumes/store.ts";
import { testWorld } from "../../helpers/world.ts";
import { aVolume } from "./rows.ts";

test("a task runs in the context of its claim, which has one node unless its access mode says otherwise", async (t) => {
  const { ctx } = await testWorld(t);
  const infra = "kubernetes/arn:aws:eks:eu:1/a/b";
  const add = (name: string, config: object) => {
    const document = readVolume({ name, type: "k8s-pvc", infra, size: "1Gi", config });
    return ctx.batch((tx) => addVolume(tx, aVolume({ name, document })));
  };
  await add("one", {});
  await add("many", { access_mode: "ReadWriteMany" });
  const placed = (name: string, num_nodes: number) =>
    withVolumes(ctx, JSON.stringify({ num_nodes, volumes: { "/a": name } }), { workspaces: null });

  assert.ok((await placed("one", 1)).includes(infra));
  assert.ok((await placed("many", 2)).includes(infra));
  await assert.rejects(placed("one", 2), {
    type: "ValueError",
    message: /^volumes: one node alone can have one, and the task has 2; use .* ReadWriteMany$/,
  });
});
