import assert from "node:assert/strict";
import { test } from "node:test";
import { cloudOperations as clouds } from "../../../contract/operations/clouds.ts";
import { kubernetesOperations as rows } from "../../../contract/operations/kubernetes.ts";
import { openHostBook } from "../../../control/ssh-pools/allocations.ts";
import { setHost } from "../../../control/ssh-pools/store.ts";
import { updatePools } from "../../../control/ssh-pools/update.ts";
import { aHost } from "../../helpers/hosts.ts";
import { testWorld } from "../../helpers/world.ts";
import { writable } from "../../helpers/writable.ts";

test("pools tell what they have of accelerators, and what is free", async (t) => {
  const world = await testWorld(t);
  const { ctx } = world;
  await updatePools(ctx, { lab: { hosts: ["a", "b", "c", "d"] }, plain: { hosts: ["e"] } });
  const with_ = (count: number) => ({ accelerators: { name: "H100", count } });
  const known = [
    ["lab", "a", with_(8)],
    ["lab", "b", with_(8)],
    ["lab", "c", with_(2)],
    ["plain", "e", {}],
  ] as const;
  for (const [pool, name, facts] of known) {
    const { machine, facts: seen } = aHost(name, facts);
    await setHost(writable(ctx), { pool, name }, { machine, facts: seen, deployedAt: 1 });
  }
  await setHost(writable(ctx), { pool: "lab", name: "c" }, { problem: "it is off" });
  const book = openHostBook(ctx, ctx.ssh);
  await book.claim({ id: "c1", name: "c1", nodes: 1 }, (hosts) => hosts.slice(0, 1));

  const ask = (input = {}) => world.run(rows.kubernetesGpuAvailability, input);
  assert.deepEqual(await ask({ is_ssh: true }), [["ssh-lab", [["H100", [1, 2, 4, 8], 18, 8]]]]);
  assert.deepEqual(await ask({ context: "plain" }), []);
  assert.deepEqual(await ask({ is_ssh: false }), []);
  assert.deepEqual(await ask({ name_filter: "h1", quantity_filter: 4 }), [
    ["ssh-lab", [["H100", [1, 2, 4, 8], 16, 8]]],
  ]);
  assert.deepEqual(await ask({ name_filter: "A100" }), []);

  const info = await world.run(rows.kubernetesNodeInfo, { context: "ssh-lab" });
  const told = Object.values(info.node_info_dict).map((node) => [
    ...[node.name, node.total.accelerator_count, node.free.accelerators_available],
    ...[node.cpu_free, node.is_ready],
  ]);
  assert.deepEqual(told, [
    ["a", 8, 0, 0, true],
    ["b", 8, 8, 4, true],
    ["c", 2, 0, 0, false],
  ]);
  const none = await world.run(rows.kubernetesNodeInfo, { context: null });
  assert.deepEqual(none.node_info_dict, {});
});

test("what machines have of accelerators is counted", async (t) => {
  const world = await testWorld(t);
  const ask = (input = {}) =>
    world.run(clouds.listAcceleratorCounts, { clouds: ["fake"], ...input });

  assert.deepEqual(await ask(), { H100: [8] });
  assert.deepEqual(await ask({ clouds: ["nowhere"] }), {});
  assert.deepEqual(await ask({ name_filter: "A100" }), {});
  assert.deepEqual(await ask({ quantity_filter: 4 }), {});
});
