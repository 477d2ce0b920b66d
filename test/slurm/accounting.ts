import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoAccounting } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

test("accounts and quotas of Slurm are told, and what they forbid is not submitted", {
  skip: whyNoAccounting(),
  timeout: 280_000,
}, async (t) => {
  const { slurm, control, untilNothingIsLeft } = await startOnSlurm(t, { hasAccounting: true });
  // The account has two CPUs.
  const task = (sbatch_options: object = {}) =>
    aTask("sleep 1000", {
      resources: { infra: "slurm/local/low", cpus: 2 },
      config: { slurm: { sbatch_options } },
    });
  const refusalOf = (options: object): Promise<string> =>
    clusterOf(control, "refused")
      .launch(task(options))
      .then(String, (error: Error) => error.message);
  const first = clusterOf(control, "first");
  const second = clusterOf(control, "second");
  await first.launch(task({ account: "physics", qos: "normal", constraint: "fast" }));
  assert.equal(await slurm.run("squeue", "--noheader", "--format=%a %q %f"), "physics normal fast");

  await t.test("an account or a QOS that there is not is refused in Slurm's words", async () => {
    assert.match(await refusalOf({ account: "alchemy" }), /Invalid account or account\/partition/);
    assert.match(await refusalOf({ qos: "gold" }), /Invalid qos specification/);
  });

  await t.test("a quota that is used up is waited for, and told", async () => {
    const launched = second.launch(task());
    const told = /Slurm job \d+: AssocGrpCpuLimit, position 1 in partition low/;
    for (const words of [
      ["explain", "second"],
      ["status", "-o", "json"],
    ])
      await until(async () => told.test((await control.cli(...words)).stdout) || undefined);
    await control.client.callAndGet(jobOperations.launch, { task: task(), name: null });
    const third = /Slurm job \d+: AssocGrpCpuLimit, position 2 in partition low/;
    for (const words of [
      ["jobs", "queue"],
      ["jobs", "events", "1"],
      ["explain", "1"],
    ])
      await until(async () => {
        const { stdout, stderr } = await control.cli(...words);
        return third.test(stdout + stderr) || undefined;
      });
    await control.client.callAndGet(jobOperations.cancel, { job_ids: [1] });
    await first.down();
    await launched;
  });

  await t.test("a limit that a job alone exceeds is told, and the job does not wait", async () => {
    const limit = ["set", "MaxTRESPerJob=cpu=1"];
    await slurm.run("sacctmgr", "--immediate", "modify", "account", "physics", ...limit);
    assert.match(await refusalOf({}), /AssocMaxCpuPerJobLimit/);
  });

  await second.down();
  await untilNothingIsLeft();
});
