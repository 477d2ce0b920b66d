import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { jobOperations } from "../../contract/operations/jobs.ts";
import { clusterOf } from "../e2e/cluster.ts";
import { until } from "../helpers/agent.ts";
import { whyNoSlurm } from "../helpers/slurm.ts";
import { aTask, startOnSlurm } from "./bed.ts";

const options = { skip: whyNoSlurm(), timeout: 280_000 };
/** `.ci/run` keeps slurmctld away for longer. */
const awaySeconds = Number(process.env["SLURM_AWAY_SECONDS"] ?? 3);

test("what goes wrong in Slurm is told, and costs no job that is well", options, async (t) => {
  const { slurm, control, untilNothingIsLeft, untilRuns } = await startOnSlurm(t);
  const { client } = control;
  const steady = clusterOf(control, "steady");
  const long = await steady.launch(aTask("sleep 1000"));
  const count = join(control.home, "count");
  const counting = `for n in {0..1000}; do echo "at $n"; echo $n > ${count}; sleep 1; done`;
  await client.callAndGet(jobOperations.launch, { task: aTask(counting), name: null });
  await untilRuns(0);
  const jobs = () => slurm.run("squeue", "--noheader", "--format=%i %T");
  const before = await jobs();
  const runsOn = async () => {
    const { text } = await steady.follow(await steady.exec(aTask("echo still here")));
    assert.match(text, /still here/);
    assert.equal(await steady.jobStatus(long), "RUNNING");
  };
  const refusalOf = async (infra: string): Promise<string> => {
    const task = JSON.stringify({ run: "true", resources: { infra } });
    const launched = clusterOf(control, "other").launch(task);
    return launched.then(String, (error: Error) => error.message);
  };

  await t.test("while slurmctld is away, jobs go on and others are begun", async () => {
    await slurm.run("scontrol", "shutdown", "slurmctld");
    await runsOn();
    assert.match(await refusalOf("slurm"), /Unable to contact slurm controller/);
    const counted = () => Number(readFileSync(count, "utf8"));
    const last = counted() + awaySeconds;
    await until(() => counted() > last || undefined, 120_000);
    const said = async () => (await control.cli("jobs", "logs", "1", "--no-follow")).stdout;
    await until(async () => (await said()).includes(`at ${last}\n`) || undefined);
    await slurm.run("slurmctld");
    await until(async () => (await jobs().catch(() => "")) === before || undefined);
    // A slurmctld that begins asks nodes whether they are there. Without munge they cannot answer, and it asks again after 100 s.
    const states = () => slurm.run("sinfo", "--noheader", "--Node", "--format=%T");
    await until(async () => !/unknown|\*/.test(await states()) || undefined);
    await runsOn();
    await untilRuns(0);
  });

  await t.test("so they do while munge refuses", async () => {
    const socket = join(slurm.folder, "munge.sock");
    renameSync(socket, `${socket}.away`);
    await runsOn();
    assert.match(await refusalOf("slurm"), /munge|authentication/i);
    renameSync(`${socket}.away`, socket);
    await runsOn();
    assert.equal(await jobs(), before);
  });

  await t.test("an account that may not use a partition is refused in Slurm's words", async () => {
    const folders = () => readdirSync(join(control.home, "slurm"));
    const left = folders();
    assert.match(await refusalOf("slurm/local/closed"), /account not known.*closed allows physics/);
    assert.deepEqual(folders(), left);
    assert.equal(await jobs(), before);
  });

  await t.test("another partition has what the first one refuses", async () => {
    await slurm.run("scontrol", "update", "partitionname=low", "allowaccounts=physics");
    const next = clusterOf(control, "next");
    await next.launch(aTask("true"));
    const last = await slurm.run("squeue", "--noheader", "--sort=-i", "--format=%P %T");
    assert.match(last, /^high RUNNING\n/);
    await next.down();
    assert.equal(await jobs(), before);
  });

  await client.callAndGet(jobOperations.cancel, { job_ids: [1] });
  await steady.down();
  await untilNothingIsLeft();
});

test(
  "a managed job goes on elsewhere when it is preempted, and when its node is down",
  options,
  async (t) => {
    const { slurm, control, untilNothingIsLeft, untilRuns } = await startOnSlurm(t);
    const { client } = control;
    const said = join(control.home, "said");
    const hooks = [{ run: `echo $HOOK_EVENT >> ${said}`, events: ["preemption"], timeout: 5 }];
    await client.callAndGet(jobOperations.launch, {
      task: aTask("sleep 1000", { config: { hooks } }),
      name: null,
    });
    await untilRuns(0);

    const script = ["--wrap=sleep 1", "--nodes=2", "--exclusive", "--output=/dev/null"];
    await slurm.run("sbatch", "--partition=high", ...script);
    await untilRuns(1);
    assert.equal(await slurm.run("cat", said), "preemption");
    const { stdout } = await control.cli("jobs", "events", "1");
    assert.match(stdout, /preempted: Slurm preempts the allocation/);

    const [id, node] = (await slurm.run("squeue", "--noheader", "--format=%i %N")).split(" ");
    await slurm.run("scontrol", "update", `nodename=${node}`, "state=down", "reason=test");
    await untilRuns(2);
    assert.notEqual(await slurm.run("squeue", "--noheader", "--format=%i"), id);
    const events = await control.cli("jobs", "events", "1");
    // Slurm ends what runs beside the node that failed, which may be told before its queue tells of the failure.
    assert.match(events.stdout, new RegExp(`a node failed under job ${id}|SIGTERM to the agent`));

    await client.callAndGet(jobOperations.cancel, { job_ids: [1] });
    await untilNothingIsLeft();
  },
);
