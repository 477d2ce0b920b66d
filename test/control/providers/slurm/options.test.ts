import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterRef, Need } from "../../../../control/providers/provider.ts";
import { offersOf, readNodes, secondsOfLimit } from "../../../../control/providers/slurm/offers.ts";
import { optionsOf } from "../../../../control/providers/slurm/options.ts";

const { kinds, addresses } = readNodes(
  "low*|up|1-00:00:00|2|8|64000|gpu:h100:4(S:0-1)|1-infinite\nold|down|infinite|9|4|8000|(null)\n--\nn1|10.0.0.1\n",
);

const aCluster = (sbatch_options: object, graceSeconds?: number): ClusterRef => ({
  ...{ id: "c1", name: "demo", nodes: 2, ports: [], labels: {}, user: { id: "u", name: "ann" } },
  machine: { slurm: { sbatch_options }, ...(graceSeconds !== undefined && { graceSeconds }) },
  offer: {
    ...{
      provider: "slurm",
      infra: "slurm/local/low",

      region: "local",
      zone: "low",
    },
    ...{ instanceType: "8CPU--62GB", cpus: 4, memoryGb: 16, dollarsPerHour: 0 },
    accelerators: { name: "h100", count: 2 },
  },
});

test("nodes are read by partition, those that are down left out", () => {
  assert.deepEqual(kinds, [
    {
      ...{
        partition: "low",
        isDefault: true,
        limit: "1-00:00:00",
        jobSize: "1-infinite",
        count: 2,
      },
      ...{ cpus: 8, memoryMb: 64_000, gpus: { name: "h100", count: 4 } },
    },
  ]);
  assert.deepEqual([...addresses], [["n1", "10.0.0.1"]]);
});

test("time limits are read in each form of sbatch", () => {
  assert.deepEqual(["30", "5:30", "1:00:00", "2-12", "infinite"].map(secondsOfLimit), [
    1_800,
    330,
    3_600,
    216_000,
    null,
  ]);
});

test("what a task asks for becomes options, and its own options come last", () => {
  const options = optionsOf(aCluster({ account: "physics", exclusive: true }), "control", kinds);

  for (const one of ["--nodes=2", "--cpus-per-task=4", "--gres=gpu:h100:2", "--partition=low"])
    assert.ok(options.includes(one), one);
  assert.deepEqual(options.slice(-2), ["--account=physics", "--exclusive"]);
});

test("Slurm tells a job when the hooks of its task must begin, and never requeues it", () => {
  const signals = [undefined, 30, 90].map((graceSeconds) => {
    const options = optionsOf(aCluster({}, graceSeconds), "control", kinds);
    assert.ok(options.includes("--no-requeue"));
    return options.filter((one) => one.startsWith("--signal"));
  });

  assert.deepEqual(
    signals.flat(),
    ["B:USR1@60", "B:USR1@60", "B:USR1@105"].map((one) => `--signal=${one}`),
  );
});

test("a task without GPUs is offered the partitions that it names for such tasks, or the one of its infra", () => {
  const row = (name: string) => `${name}|up|infinite|2|8|64000|gpu:h100:4|1-infinite`;
  const three = readNodes(`${row("gpu")}\n${row("cpu")}\n${row("long")}\n`).kinds;
  const zonesOf = (need: Need) => offersOf("a", three, need).map(({ zone }) => zone);
  const cpuPartition = "cpu,long";
  const gpu = { accelerators: { name: "h100", count: 1 } };

  assert.deepEqual(zonesOf({ nodes: 1, cpuPartition }), ["cpu", "long"]);
  assert.deepEqual(zonesOf({ nodes: 1, cpuPartition, infra: "slurm/a/gpu" }), ["gpu"]);
  assert.deepEqual(zonesOf({ nodes: 1, cpuPartition, ...gpu }), ["gpu", "cpu", "long"]);
});

test("a partition that is no text is refused, and the one of all options of a task counts most", () => {
  const optionsFor = (slurm: object) =>
    optionsOf({ ...aCluster({}), machine: { slurm } }, "control", kinds);
  assert.ok(optionsFor({ sbatch_options: { partition: "x" } }).includes("--partition=x"));
  assert.throws(() => optionsFor({ cpu_partition: { name: "cpu" } }), { message: /must be text/ });
});

test("no option of a task changes what its job is found by, not even cut short", () => {
  for (const name of ["job-name", "commen", "clusters", "wait", "out"])
    assert.throws(() => optionsOf(aCluster({ [name]: "x" }), "control", kinds), {
      message: new RegExp(`\`${name}\` cannot be set`),
    });
});

test("a time limit that leaves no time for the hooks is refused with the numbers", () => {
  assert.throws(() => optionsOf(aCluster({ time: "1" }, 90), "control", kinds), {
    message: /time limit of 60 s .* may take 90 s and 15 s are reserved/,
  });
});

test("of several partitions the shortest limit counts", () => {
  const row = (name: string, limit: string) => `${name}|up|${limit}|2|8|64000|(null)|1-infinite`;
  const several = readNodes(`${row("long", "1-00:00:00")}\n${row("short", "1:00")}\n`).kinds;
  const partition = "long,short";
  assert.throws(() => optionsOf(aCluster({ partition }), "control", several), {
    message: /time limit of 60 s \(partition short\) is too short/,
  });
  optionsOf(aCluster({ partition, time: "10" }), "control", several);
});
