import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { hookedCluster } from "../e2e/hooked.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

test("hooks run before the time limit of an allocation, and a managed job goes on from its checkpoint in another", {
  skip: whyNoSlurm(),
  timeout: 180_000,
}, async (t) => {
  const { slurm, control, untilNothingIsLeft, untilRuns } = await startOnSlurm(t);
  const folder = join(control.home, "checkpoints");
  mkdirSync(folder);
  const run = `cd ${folder}; n=$(cat saved || echo 0)
echo "attempt $OUTRIGGER_RECOVERY_COUNT of $OUTRIGGER_TASK_ID begins at $n"
until [ -e enough ]; do n=$((n + 1)); echo "$n" > now.new; mv now.new now; sleep 0.1; done
echo "ends at $n"`;
  const saves = { run: `cp ${folder}/now ${folder}/saved`, events: ["preemption"], timeout: 10 };
  const slurmOptions = { sbatch_options: { time: "10" } };
  const task = aTask(run, { config: { hooks: [saves], slurm: slurmOptions } });
  const short = hookedCluster(control, "short");
  const hooks = [short.hook("saved", { events: ["preemption"], timeout: 10 })];
  await short.launch(aTask("sleep 1000", { config: { hooks, slurm: slurmOptions } }));
  await control.client.callAndGet(jobOperations.launch, { task, name: "counts" });
  await untilRuns(0);

  // Slurm says so a minute before the end, which it looks for twice a minute.
  await slurm.run("scontrol", "update", "jobid=1,2", "timelimit=1");
  await short.untilRan("saved preemption");
  await untilRuns(1);
  await short.down();
  writeFileSync(join(folder, "enough"), "");

  const { stdout } = await control.cli("jobs", "logs", "1");
  const [, first] = /^attempt 0 of (\S+) begins at 0$/m.exec(stdout) ?? [];
  const [, second, from] = /^attempt 1 of (\S+) begins at (\d+)$/m.exec(stdout) ?? [];
  assert.ok(first !== undefined && first === second, stdout);
  assert.ok(Number(from) > 0, stdout);
  const events = await control.cli("jobs", "events", "1");
  assert.match(events.stdout, /RECOVERING .*the allocation reaches its time limit/);
  assert.match(events.stdout, /SUCCEEDED/);
  await untilNothingIsLeft();
});
