import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { hookedCluster } from "../e2e/hooked.ts";
import { until } from "../helpers/agent.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 180_000 };

/** What an operator does to a job that is not to be requeued. */
async function requeueOn({ slurm }: Awaited<ReturnType<typeof startOnSlurm>>): Promise<string> {
  const id = await slurm.run("squeue", "--noheader", "--format=%i");
  await assert.rejects(slurm.run("scontrol", "requeue", id), /presently disabled/);
  await slurm.run("scontrol", "update", `jobid=${id}`, "requeue=1");
  await slurm.run("scontrol", "requeue", id);
  return id;
}

test("an allocation that is requeued comes back as the same cluster", options, async (t) => {
  const bed = await startOnSlurm(t);
  const { slurm, control, untilNothingIsLeft } = bed;
  const pair = hookedCluster(control, "pair");
  // Slurm kills what has not ended in time, which then leaves its home behind.
  const does = 'kill -KILL "$(ps -o ppid= "$(cat ~/agent.pid)")"; sleep 100';
  const hooks = [pair.hook("saved", { does, events: ["preemption"], timeout: 5 })];
  await pair.launch(aTask("sleep 1000", { config: { hooks } }));

  const id = await requeueOn(bed);

  await pair.untilRan("saved preemption");
  const told = `Slurm requeued job ${id}: BeginTime, position 1 in partition low, estimated start 20`;
  const says = async (...words: string[]) => (await control.cli(...words)).stdout.includes(told);
  await until(async () => (await says("explain", "pair")) || undefined);
  assert.ok(await says("status", "-o", "json"));
  assert.ok((await control.cli("status")).stderr.includes(told));
  await slurm.run("scontrol", "update", `jobid=${id}`, "starttime=now");
  await pair.untilStatus("UP");
  const { text } = await pair.follow(await pair.exec(aTask("echo back again")));
  assert.match(text, /back again/);
  assert.equal(await slurm.run("squeue", "--noheader", "--format=%i %T"), `${id} RUNNING`);
  await pair.down();
  await untilNothingIsLeft();
});

test("a managed job whose allocation is requeued goes on in another", options, async (t) => {
  const bed = await startOnSlurm(t);
  const { slurm, control, untilNothingIsLeft, untilRuns } = bed;
  const { client } = control;
  await client.callAndGet(jobOperations.launch, { task: aTask("sleep 1000"), name: null });
  await untilRuns(0);

  const id = await requeueOn(bed);

  await untilRuns(1);
  assert.notEqual(await slurm.run("squeue", "--noheader", "--format=%i"), id);
  await client.callAndGet(jobOperations.cancel, { job_ids: [1] });
  await untilNothingIsLeft();
});
