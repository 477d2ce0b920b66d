import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { until } from "../../helpers/agent.ts";
import { type JobBed, logOf, silence, withJob, withRecovery } from "./bed.ts";

const notNow = new AppError("CloudError", "not now");

/** How the job on the cluster ends, with what only a real node would say. */
async function endWith(
  bed: JobBed,
  status: "FAILED" | "FAILED_DRIVER" | "CANCELLED",
  reason: string,
  exitCode: number | null = status === "FAILED" ? 143 : null,
) {
  const job = await bed.job(1);
  Object.assign(job, { reason, exitCode });
  (await bed.agent(1)).end(job.id, status);
}

test("a job whose machine is gone runs again elsewhere, under the same task id", async (t) => {
  const bed = await withJob(t);
  const first = await bed.task(1);
  const before = (await bed.job(1)).submission;

  await bed.world.provider.lose(first.clusterId ?? "", 0);
  const { recoveries, restarts, clusterId, attempt } = await bed.untilAttempt(1, 2);

  assert.deepEqual([recoveries, restarts, attempt], [1, 0, 2]);
  assert.notEqual(clusterId, first.clusterId);
  const { submission } = await bed.job(1);
  assert.equal(submission.env["OUTRIGGER_TASK_ID"], before.env["OUTRIGGER_TASK_ID"]);
  assert.equal(submission.env["OUTRIGGER_RECOVERY_COUNT"], "1");
  assert.deepEqual((await bed.moves(1)).slice(2), ["RUNNING>RECOVERING", "RECOVERING>RUNNING"]);
  assert.equal(bed.world.provider.machines.size, 1, "nothing is left of the first one");
});

test("a lost machine is not made anew for the attempt that it took away", async (t) => {
  const bed = await withJob(t);
  const { clusterId } = await bed.task(1);
  const release = bed.world.provider.holds("destroy");
  bed.world.provider.calls.length = 0;

  await bed.world.provider.lose(clusterId ?? "", 0);
  await bed.untilAttempt(1, 2);
  release();

  assert.deepEqual(bed.world.provider.calls, ["create 0"]);
});

test("the next attempt begins only when nothing is left of the one before", async (t) => {
  const bed = await withJob(t, "name: two\nnum_nodes: 2\nrun: train");
  const { clusterId } = await bed.task(1);
  bed.world.provider.fails("destroy", notNow);
  await bed.world.provider.lose(clusterId ?? "", 1);
  const { waitsFor } = await bed.until(1, (task) => /deleted/.test(task.waitsFor ?? ""));

  assert.match(waitsFor ?? "", /^waits until its cluster is deleted: not now/);
  assert.equal((await bed.task(1)).attempt, 1);
  bed.world.provider.fails("destroy", undefined);
  await bed.untilAttempt(1, 2);
});

test("a machine that does not answer is not lost: the job waits, and says for what", async (t) => {
  const bed = await withJob(t);
  const { clusterId } = await bed.task(1);
  bed.world.provider.fails("create", notNow);
  await silence(bed);
  const silent = await bed.until(1, ({ waitsFor }) => waitsFor !== null);
  bed.world.advance(10 * 3_600_000);
  await bed.look(1);

  assert.equal(
    silent.waitsFor,
    "its machine does not respond; waits until it does, or until fake says that it is gone",
  );
  assert.deepEqual([(await bed.task(1)).status, (await bed.task(1)).attempt], ["RUNNING", 1]);
  bed.world.provider.agentsStart = true;
  bed.world.provider.fails("create", undefined);
  await bed.until(1, ({ waitsFor }) => waitsFor === null);
  assert.equal((await bed.task(1)).clusterId, clusterId);
  assert.equal((await bed.agent(1)).node.jobs.length, 1, "the attempt goes on");
  assert.deepEqual((await bed.remarks(1)).slice(-2), [silent.waitsFor, "waits no longer"]);
});

test("a provider that does not say whether the machine is there is waited for", async (t) => {
  const bed = await withJob(t);
  const { clusterId } = await bed.task(1);
  bed.world.provider.fails("list", notNow);
  await bed.world.provider.lose(clusterId ?? "", 0);
  await bed.look(1);
  const { waitsFor, status } = await bed.until(1, (task) => task.waitsFor !== null);

  assert.equal(status, "RUNNING");
  assert.match(waitsFor ?? "", /^waits until fake says whether its machine is there: .*not now/);
  bed.world.provider.fails("list", undefined);
  await bed.untilAttempt(1, 2);
});

for (const [status, reason, because] of [
  ["FAILED_DRIVER", "the machine was rebooted", "the machine was rebooted"],
  ["FAILED_DRIVER", "rank 1: node 1 was lost", "rank 1: node 1 was lost"],
  ["CANCELLED", "cancelled", "its attempt was ended from outside: cancelled"],
] as const)
  test(`a job that ended as ${status}: ${reason} is recovered`, async (t) => {
    const bed = await withJob(t);

    await endWith(bed, status, reason);

    const { restarts, recoveries } = await bed.untilAttempt(1, 2);
    assert.deepEqual([restarts, recoveries], [0, 1]);
    const events = await bed.world.run(rows.events, { job_id: 1, limit: null });
    assert.ok(events.some((event) => event.reason === because));
  });

for (const [status, reason, exitCode] of [
  ["FAILED", "it exceeded its memory limit of 1 GB and was killed", 137],
  ["FAILED", "run exited with 137 (killed by SIGKILL, perhaps out of memory)", 137],
  ["FAILED_DRIVER", "the process of its run script is gone and left no exit code", null],
] as const)
  test(`a job has failed by itself where ${reason}`, async (t) => {
    const bed = await withJob(t);

    await endWith(bed, status, reason, exitCode);

    const ended = await bed.untilSettled(1);
    assert.deepEqual([ended.status, ended.reason], ["FAILED", reason]);
    assert.deepEqual([ended.attempt, ended.recoveries], [1, 0]);
  });

test("a job that is ended by a preemption has not failed", async (t) => {
  const bed = await withJob(t, "name: train\nconfig: {hooks: [{run: save}]}\nrun: train");
  const agent = await bed.agent(1);
  agent.node.holdsHooks = true;
  agent.preempt("spot machine reclaimed");
  await endWith(bed, "FAILED", "run exited with 143 (ended by SIGTERM)");

  const { reason, clusterId } = await bed.untilTask(1, "RECOVERING");
  await bed.world.provider.lose(clusterId ?? "", 0);

  assert.match(reason, /preempt/);
  await bed.untilAttempt(1, 2);
});

test("an exit of a user is no loss, also when its machine does not respond just then", async (t) => {
  const bed = await withJob(t, "name: two\nnum_nodes: 2\nrun: train");
  bed.world.provider.fails("create", notNow);
  await silence(bed, 1);
  await endWith(bed, "FAILED", "run exited with 143 (ended by SIGTERM)");
  const { waitsFor, status } = await bed.until(1, (task) => task.waitsFor !== null);
  assert.equal(status, "RUNNING");
  assert.match(
    waitsFor ?? "",
    /143.*; waits until its machines say whether one is being preempted/,
  );

  bed.world.provider.agentsStart = true;
  bed.world.provider.fails("create", undefined);

  assert.equal((await bed.untilSettled(1)).status, "FAILED");
});

test("restarts on errors are counted across crashes of control", async (t) => {
  let bed = await withJob(t, withRecovery("{max_restarts_on_errors: 1}"));
  await endWith(bed, "FAILED", "run exited with 3");
  await bed.untilAttempt(1, 2);
  bed = await bed.crash();
  await endWith(bed, "FAILED", "run exited with 3");

  const { status, reason, attempt, restarts } = await bed.untilSettled(1);

  assert.deepEqual([status, attempt, restarts], ["FAILED", 2, 1]);
  assert.equal(reason, "run exited with 3; no restart is left of 1");
});

test("exit codes that a task names are recovered without being counted", async (t) => {
  const bed = await withJob(t, withRecovery("{recover_on_exit_codes: [143]}"));
  await endWith(bed, "FAILED", "run exited with 143");
  await bed.untilAttempt(1, 2);
  await endWith(bed, "FAILED", "run exited with 143");
  const { waitsFor } = await bed.until(1, (task) => /in a row/.test(task.waitsFor ?? ""));
  assert.match(waitsFor ?? "", /^waits until 20.*Z, as it failed 2 times in a row$/);
  bed.world.advance(10_000);
  await bed.look(1);
  await bed.untilAttempt(1, 3);

  const { restarts, recoveries } = await bed.task(1);
  assert.deepEqual([restarts, recoveries], [0, 2]);
});

test("a job that must not be recovered has FAILED when its machine is gone", async (t) => {
  const bed = await withJob(t, withRecovery("none"));

  await bed.world.provider.lose((await bed.task(1)).clusterId ?? "", 0);

  const { status, reason } = await bed.untilSettled(1);
  assert.equal(status, "FAILED");
  assert.match(reason, /^its machine is gone; it is not recovered/);
});

test("a loss while control is away is found when it is back", async (t) => {
  const bed = await withJob(t);
  const { clusterId } = await bed.task(1);
  const crashing = bed.crash();
  await bed.world.provider.lose(clusterId ?? "", 0);
  const after = await crashing;

  const { recoveries } = await after.untilAttempt(1, 2);

  assert.equal(recoveries, 1);
  await until(async () => (after.world.provider.machines.size === 1 ? true : undefined));
});

test("ten hours without control harm no job", async (t) => {
  const before = await withJob(t);
  const agent = await before.agent(1);
  const { clusterId } = await before.task(1);
  agent.print(1, "before\n");
  const isCopied = async () => (await logOf(before, { job_id: 1, follow: false })).text !== "";
  await until(async () => (await isCopied()) || undefined);
  const crashing = before.crash(10 * 3_600_000);
  agent.print(1, "meanwhile\n");
  const bed = await crashing;
  await bed.look(1);
  agent.print(1, "after\n");

  const { status, attempt, recoveries, ...task } = await bed.task(1);
  assert.deepEqual([status, attempt, recoveries, task.clusterId], ["RUNNING", 1, 0, clusterId]);
  agent.end(1, "SUCCEEDED");
  const { recoveries: recovered, ranMs } = await bed.untilSettled(1);
  assert.equal(recovered, 0);
  assert.ok(ranMs >= 10 * 3_600_000, "control was away for that long");
  assert.equal((await logOf(bed, { job_id: 1 })).text, "before\nmeanwhile\nafter\n");
});

test("the rest of a log is waited for as long as any of it comes", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);
  let printed = 0;
  const printing = setInterval(() => {
    agent.print(1, "epoch\n");
    printed += 1;
    if (printed === 30) clearInterval(printing);
  }, 20);
  const { jobLogs } = bed.world.ctx;

  const whole = jobLogs.whole(
    await bed.task(1),
    { silentMs: 300, isOver: false },
    AbortSignal.timeout(60_000),
  );

  await assert.rejects(whole, { message: "no data was received for 0.3 s" });
  assert.equal(printed, 30);
});
