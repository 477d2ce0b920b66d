import assert from "node:assert/strict";
import { test } from "node:test";
import { readMachines } from "../../../../control/providers/slurm/machines.ts";
import { offersOf, readNodes } from "../../../../control/providers/slurm/offers.ts";

const line = (name: string, used: number, state: string) =>
  `NodeName=${name} Arch=x86_64  CPUAlloc=6 CPUEfctv=8 CPUTot=8 Gres=gpu:h100:4(S:0-1) GresDrain=N/A ` +
  `GresUsed=gpu:h100:${used}(IDX:0-1) NodeAddr=10.0.0.1 NodeHostName=n RealMemory=64000 AllocMem=16000 ` +
  `State=${state} Partitions=low,high  AllocTRES=cpu=6 Reason=bad disk, State=x [root@2026-11-26]`;

test("a node of Slurm tells what it has and what is free, and nothing is free on one set aside", () => {
  const [busy, away] = readMachines(`${line("n1", 3, "MIXED")}\n${line("n2", 0, "IDLE+DRAIN")}\n`);

  assert.deepEqual(busy, {
    ...{ name: "n1", accelerator_type: "h100", ip_address: "10.0.0.1", taints: [] },
    ...{ total: { accelerator_count: 4 }, free: { accelerators_available: 1 } },
    ...{ cpu_count: 8, cpu_free: 2, memory_gb: 62.5, memory_free_gb: 46.88 },
    ...{ is_ready: true, is_cordoned: false },
    queue: { state: "mixed", partitions: ["low", "high"] },
  });
  assert.deepEqual(
    [away?.free.accelerators_available, away?.cpu_free, away?.is_ready, away?.is_cordoned],
    [0, 0, false, true],
  );
});

test("GPUs are offered where they are asked for, by name or by memory, and listed where nothing is", () => {
  const { kinds } = readNodes("low*|up|infinite|2|8|64000|gpu:h100:4\n--\n");
  const gpusOf = (need: object) =>
    offersOf("local", kinds, need).map(({ accelerators }) => accelerators?.count ?? 0);

  assert.deepEqual(gpusOf({ nodes: 1 }), [0]);
  assert.deepEqual(gpusOf({ nodes: 1, accelerators: { name: "H100", count: 3 } }), [3]);
  assert.deepEqual(gpusOf({ nodes: 1, anyAccelerators: true }), [0, 1, 2, 4]);
  assert.deepEqual(gpusOf({}), [0, 1, 2, 4]);
});
