import assert from "node:assert/strict";
import { test } from "node:test";
import { slurmOperations as rows } from "../../contract/operations/slurm.ts";
import { readMachines } from "../../control/providers/slurm/machines.ts";
import { testWorld } from "../helpers/world.ts";

const nodes = readMachines(
  "NodeName=n1 CPUAlloc=0 CPUTot=2 Gres=gpu:h100:4 GresUsed=gpu:h100:1(IDX:0) RealMemory=4000 AllocMem=0 State=MIXED Partitions=low,high",
);
const shown = {
  ...{ node_name: "n1", slurm_cluster_name: "a", partition: "low,high", node_state: "mixed" },
  ...{ gpu_type: "h100", total_gpus: 4, free_gpus: 3, vcpu_count: 2, memory_gb: 3.91 },
};

test("Slurm clusters tell what is free, and why one does not answer", async (t) => {
  const world = await testWorld(t);
  assert.deepEqual(await world.run(rows.slurmGpuAvailability, {}), []);
  assert.deepEqual(await world.run(rows.slurmNodeInfo, {}), []);
  Object.assign(world.provider, {
    name: "slurm",
    places: async () => ["slurm", "slurm/a", "slurm/b"],
    async inspect(place: string) {
      if (place === "b") throw new Error("Slurm: Unable to contact slurm controller");
      return [[place, nodes]];
    },
  });
  const ask = (input: object) => world.run(rows.slurmGpuAvailability, input);

  assert.deepEqual(await ask({}), [
    ["a", [["h100", [1, 2, 4], 4, 3]], null],
    ["b", [], "Slurm: Unable to contact slurm controller"],
  ]);
  assert.deepEqual(await ask({ slurm_cluster_name: "a", quantity_filter: 8 }), [["a", [], null]]);
  assert.deepEqual(await world.run(rows.slurmNodeInfo, {}), [shown]);
  assert.deepEqual(await world.run(rows.slurmNodeInfoByGet, { slurm_cluster_name: "c" }), []);
  for (const row of [rows.slurmNodeInfo, rows.slurmNodeInfoByGet])
    assert.deepEqual(await world.run(row, { slurm_cluster_name: "b" }), []);
});
