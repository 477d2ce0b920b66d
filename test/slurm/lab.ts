import assert from "node:assert/strict";
import { test } from "node:test";
import { startSlurm, whyNoSlurm } from "../helpers/slurm.ts";

test("the Slurm of the tests runs jobs on two nodes and hands out GPUs", {
  skip: whyNoSlurm(),
}, async (t) => {
  const slurm = await startSlurm(t);

  const script = 'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"';
  const told = await slurm.run("srun", "--nodes=2", "--gres=gpu:h100:2", "bash", "-c", script);

  assert.deepEqual(told.split("\n").sort(), ["n1 0,1", "n2 0,1"]);
});
