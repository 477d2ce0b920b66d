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

test("what Slurm 23.11 and 24.11 print of a node is read as well", () => {
  const lineOf = (version: string, state: string, more: string) =>
    "NodeName=g1 Arch=x86_64 CoresPerSocket=32  CPUAlloc=12 CPUEfctv=62 CPUTot=64 CPULoad=1.50 AvailableFeatures=fast " +
    "ActiveFeatures=fast Gres=gpu:a100:4(S:0-1) GresDrain=N/A GresUsed=gpu:a100:3(IDX:0-2) NodeAddr=g1.example " +
    `NodeHostName=g1 Version=${version} OS=Linux 5.14.0 #1 SMP PREEMPT_DYNAMIC Wed Apr 16 16:38:39 UTC 2025  ` +
    "RealMemory=512000 AllocMem=128000 FreeMem=1000 Sockets=2 Boards=1 CoreSpecCount=1 CPUSpecList=31,63 " +
    `State=${state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A NextState=IDLE Partitions=gpu,long  ` +
    "BootTime=2025-05-15T13:30:56 SlurmdStartTime=2025-07-30T13:57:36 LastBusyTime=2025-09-22T16:10:19 " +
    "ResumeAfterTime=None CfgTRES=cpu=62,mem=500G,gres/gpu=4,gres/gpu:a100=4 AllocTRES=cpu=12,mem=125G " +
    `${more} Comment=State=DOWN Extra=Gres=gpu:h100:8\n`;
  const power = "CapWatts=n/a CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/a ExtSensorsTemp=n/a";
  const nodes = readMachines(
    lineOf("23.11.7", "MIXED+PLANNED", power) +
      lineOf("24.11.4", "MIXED+DYNAMIC_NORM", "CurrentWatts=240 AveWatts=180") +
      lineOf("24.11.4", "MIXED+DYNAMIC_NORM+NOT_RESPONDING", "CurrentWatts=0 AveWatts=0"),
  );

  assert.deepEqual(
    nodes.map((node) => [
      ...[node.accelerator_type, node.total.accelerator_count, node.free.accelerators_available],
      ...[node.cpu_count, node.memory_free_gb, node.ip_address, node.queue?.partitions.join(",")],
    ]),
    [
      ["a100", 4, 1, 64, 375, "g1.example", "gpu,long"],
      ["a100", 4, 1, 64, 375, "g1.example", "gpu,long"],
      ["a100", 4, 0, 64, 0, "g1.example", "gpu,long"],
    ],
  );
});

test("GPUs of several types of one node are offered and counted each by themselves", () => {
  const gres = "gpu:a100:4(S:0),gpu:h100:2(S:1),shard:8";
  const { kinds } = readNodes(`low*|up|infinite|2|8|64000|${gres}\n--\n`);
  const types = offersOf("local", kinds, { nodes: 1, anyAccelerators: true });
  assert.deepEqual(
    types.flatMap(({ accelerators }) =>
      accelerators ? [`${accelerators.name}:${accelerators.count}`] : [],
    ),
    ["a100:1", "a100:2", "a100:4", "h100:1", "h100:2"],
  );

  const used = "gpu:a100:3(IDX:0-2),gpu:h100:0(IDX:N/A),shard:0";
  const [a100, h100] = readMachines(`NodeName=n1 Gres=${gres} GresUsed=${used} State=MIXED\n`);
  assert.deepEqual([a100?.accelerator_type, a100?.free.accelerators_available], ["a100", 1]);
  assert.deepEqual([h100?.accelerator_type, h100?.free.accelerators_available], ["h100", 2]);
  const [untold] = readMachines("NodeName=n1 Gres=gpu:a100:4 GresUsed=gpu:3 State=MIXED\n");
  assert.equal(untold?.free.accelerators_available, 1);
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
