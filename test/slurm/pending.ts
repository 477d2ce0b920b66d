import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { until } from "../helpers/agent.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 120_000 };

test(
  "the queue of managed jobs tells why Slurm does not begin one, and when it might",
  options,
  async (t) => {
    const { control, untilNothingIsLeft } = await startOnSlurm(t);
    const { client } = control;
    const config = { slurm: { sbatch_options: { begin: "now+1hour" } } };
    await client.callAndGet(jobOperations.launch, { task: aTask("true", { config }), name: null });

    const told = /Slurm job \d+: BeginTime, position 1 in partition low, estimated start 20/;
    for (const words of [
      ["jobs", "queue"],
      ["jobs", "events", "1"],
      ["explain", "1"],
    ])
      await until(async () => {
        const { stdout, stderr } = await control.cli(...words);
        return told.test(stdout + stderr) || undefined;
      });

    await client.callAndGet(jobOperations.cancel, { job_ids: [1] });
    await untilNothingIsLeft();
  },
);
