import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { surelyOverMs } from "../../../contract/lease.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { openJobLeases } from "../../../control/jobs/leases.ts";
import { managedJobs } from "../../../control/jobs/reconcile.ts";
import { until } from "../../helpers/agent.ts";
import { type JobBed, jobBed, silence, withJob, withRecovery } from "./bed.ts";

const minuteMs = 60_000;
const lease = withRecovery("{lease: 10m}");
const overMs = surelyOverMs(10 * minuteMs);

/** What a task waits for once its machine is known not to answer. */
const untilWaiting = (bed: JobBed) => bed.until(1, (task) => /lease/.test(task.waitsFor ?? ""));

/** A leased job whose machine has been silent for some time. */
async function silentJob(t: TestContext, task = lease, forMs = minuteMs): Promise<JobBed> {
  const bed = await withJob(t, task);
  await silence(bed);
  bed.world.advance(forMs);
  await bed.look(1);
  return bed;
}

test("a node has its lease before it is handed a job; control sends back what it has heard", async (t) => {
  const bed = await withJob(t, withRecovery("{lease: 10s}"));
  const { node, calls } = await bed.agent(1);

  assert.ok(calls.indexOf("renewLease") < calls.indexOf("submit"), calls.join());
  const heard = await until(() => node.lease?.heard ?? undefined);
  await until(() => (node.lease?.heard ?? 0) > heard || undefined);
  assert.equal(node.lease?.leaseMs, 10_000);
});

test("a job without a lease asks for none", async (t) => {
  const bed = await withJob(t);

  assert.ok(!(await bed.agent(1)).calls.includes("renewLease"));
});

test("a silent machine with a lease is lost once that has run out for sure, not before", async (t) => {
  const bed = await silentJob(t);
  const { waitsFor, clusterId } = await untilWaiting(bed);
  const [, until = ""] =
    /or until (\S+), when its lease of 10 min has run out$/.exec(waitsFor ?? "") ?? [];
  const leftMs = Date.parse(until) - bed.world.ctx.steadyNow();
  assert.ok(leftMs > overMs - 2 * minuteMs && leftMs <= overMs - minuteMs, `${leftMs} ms are left`);
  bed.world.advance(leftMs - 5_000);
  await bed.look(1);
  const { status, attempt } = await bed.task(1);
  assert.deepEqual([status, attempt], ["RUNNING", 1]);

  bed.world.advance(5_000);
  bed.world.provider.agentsStart = true;
  await bed.look(1);

  const next = await bed.untilAttempt(1, 2);
  assert.notEqual(next.clusterId, clusterId);
  assert.equal(next.recoveries, 1);
  assert.match((await bed.remarks(1)).join(), /its lease of 10 min has run out/);
});

test("a provider that cannot say whether a machine is there is waited for no longer, either", async (t) => {
  const bed = await silentJob(t);
  bed.world.provider.fails("list", new AppError("CloudError", "not now"));
  await bed.look(1);
  await bed.until(1, ({ waitsFor }) =>
    /^waits until fake says .*, or until 20.*: .*not now/.test(waitsFor ?? ""),
  );
  bed.world.advance(overMs);
  await bed.look(1);

  const { reason } = await bed.untilTask(1, "RECOVERING");
  assert.equal(reason, "its machine does not respond, and its lease of 10 min has run out");
});

test("a control that starts anew counts the whole lease again", async (t) => {
  const before = await silentJob(t);
  before.world.advance(overMs - 2 * minuteMs);
  const bed = await before.crash();
  bed.world.advance(2 * minuteMs);
  await bed.look(1);
  const { status } = await untilWaiting(bed);
  assert.equal(status, "RUNNING");

  bed.world.advance(overMs);
  bed.world.provider.agentsStart = true;
  await bed.look(1);
  await bed.untilAttempt(1, 2);
});

test("a machine that answers again in time goes on with its attempt", async (t) => {
  const bed = await silentJob(t, withRecovery("{lease: 10s}"), 4_000);
  await untilWaiting(bed);
  bed.world.provider.agentsStart = true;
  await bed.look(1);
  await bed.until(1, ({ waitsFor }) => waitsFor === null);

  assert.equal((await bed.task(1)).attempt, 1);
});

test("a lease is renewed also after the database could not be read", async (t) => {
  const bed = await withJob(t, withRecovery("{lease: 10s}"));
  const { ctx } = bed.world;
  let reads = 0;
  const failing = Object.defineProperty({ ...ctx }, "db", {
    get() {
      reads += 1;
      if (reads === 2) throw new Error("disk I/O error");
      return ctx.db;
    },
  });
  const leases = openJobLeases(() => failing);
  t.after(() => leases.stop());

  leases.keep({ ...(await bed.task(1)), leaseMs: 10_000 }, await bed.cluster(1));

  await until(() => reads > 3 || undefined);
});

test("a lease is taken up with the first look after a start, however long its task rests", async (t) => {
  const bed = await withJob(t, withRecovery("{lease: 10s}"));
  const { clusterId } = await bed.task(1);
  const jobLeases = openJobLeases(() => bed.world.ctx);
  t.after(() => jobLeases.stop());
  assert.equal(jobLeases.has(clusterId), false);

  await managedJobs.due({ ...bed.world.ctx, jobLeases });

  assert.equal(jobLeases.has(clusterId), true);
});

test("an attempt that its agent has ended is recovered, also when control was away for hours", async (t) => {
  const before = await withJob(t, lease);
  const agent = await before.agent(1);
  const job = await before.job(1);
  const crashing = before.crash();
  agent.node.isLeaseOver = true;
  Object.assign(job, { reason: "the node was taken away (control has not been in touch)" });
  agent.end(job.id, "CANCELLED");
  const bed = await crashing;
  bed.world.advance(10 * 60 * minuteMs);

  const { recoveries } = await bed.untilAttempt(1, 2);

  assert.equal(recoveries, 1);
});

test("a node whose lease is over before the job is handed in is replaced", async (t) => {
  const bed = await jobBed(t);
  const { provider } = bed.world;
  const created = provider.created(0);
  await bed.launch(lease);
  await created;
  const [first] = provider.machines.values();
  if (first !== undefined) first.node.isLeaseOver = true;

  const { recoveries } = await bed.untilAttempt(1, 2);
  assert.equal(recoveries, 0);
  assert.deepEqual(first?.node.jobs, []);
});

test("a job of a pool has no lease", async (t) => {
  const { world } = await jobBed(t);

  await assert.rejects(world.run(rows.launch, { task: lease, name: null, pool: "pond" }), {
    type: "ValueError",
    message: /^a job of a pool cannot have a job_recovery.lease/,
  });
});
