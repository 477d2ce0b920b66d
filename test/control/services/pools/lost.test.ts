import assert from "node:assert/strict";
import { test } from "node:test";
import { agentOperations } from "../../../../contract/agent-api.ts";
import { jobOperations as jobs } from "../../../../contract/operations/jobs.ts";
import { findCluster } from "../../../../control/clusters/store.ts";
import type { JobTask } from "../../../../control/jobs/schema.ts";
import { nudge } from "../../../../control/reconciler.ts";
import { hasNoWork } from "../../../../control/services/pools/worker.ts";
import { handIn } from "../../../../control/services/replicas/launch.ts";
import { until } from "../../../helpers/agent.ts";
import { writable } from "../../../helpers/writable.ts";
import { aPool, type PoolBed, withPool } from "./bed.ts";

test("a worker that is being preempted gets no other job, and is replaced before its machine goes", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  await bed.untilTask(1, "RUNNING");

  (await bed.agentOf(1)).preempt("spot machine reclaimed");
  const { reason } = await bed.untilWorker(1, "PREEMPTED");
  await bed.setUp(2);
  const again = await bed.untilAttempt(1, 2);

  assert.match(reason, /its machine is being preempted/);
  assert.deepEqual([again.clusterName, again.recoveries], ["warm-2", 1]);
});

test("what a lost worker still runs of a job is ended before the job waits for another one", async (t) => {
  const bed = await withPool(t, aPool("workers: 2", "num_nodes: 2"));
  await bed.submit("num_nodes: 2\nrun: train");
  const { clusterId } = await bed.untilTask(1, "RUNNING");
  await bed.submit("num_nodes: 2\nrun: other");
  await bed.untilTask(2, "RUNNING");

  const head = await bed.agentOf(1);
  await bed.world.provider.lose(clusterId ?? "", 1);
  await bed.until(1, ({ status }) => status === "RECOVERING");
  await until(async () => (await bed.task(1)).queuedAt !== null || undefined);

  const [, job] = (await bed.agentOf(2)).node.jobs;
  assert.equal(head.node.jobs[1]?.status, "CANCELLED");
  assert.equal(job?.submission.env["OUTRIGGER_MANAGED_JOB_ID"], "2", "the other one is left alone");
});

test("a worker that stays silent is not kept by jobs that are to be cancelled, once they had their time", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  const { clusterId } = await bed.untilTask(1, "RUNNING");
  const worker = await bed.worker(1);
  const { ctx, provider } = bed.world;
  provider.agentsStart = false;
  await provider.silence(clusterId ?? "", 0);

  const isFree = (isLate: boolean) => hasNoWork(ctx, worker, isLate);
  const before = await isFree(true);
  await bed.world.run(jobs.cancel, { job_ids: [1] });
  const { waitsFor } = await bed.until(1, (task) => /worker/.test(task.waitsFor ?? ""));

  assert.deepEqual([before, await isFree(false), await isFree(true)], [false, false, true]);
  assert.equal(waitsFor, "waits until worker warm-1 answers, or is gone");
});

test("a pass of a worker that finds nothing new does not look at its jobs", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  await bed.untilTask(1, "RUNNING");
  const [{ calls }, { id }] = [await bed.agentOf(1), await bed.worker(1)];
  const countOf = (name: string) => calls.filter((one) => one === name).length;
  const pass = async () => {
    const before = countOf("listJobs");
    void nudge(bed.world.ctx, "replica", id);
    await until(() => countOf("listJobs") > before || undefined);
  };
  const before = countOf("getJob");

  for (let round = 0; round < 20; round += 1) await pass();

  // A pass asks for the setup; looks that were under way may add to that.
  assert.ok(countOf("getJob") - before < 25);
});

test("a worker whose machine goes before its setup was handed in is lost", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const { ctx, provider } = bed.world;
  const worker = await bed.worker(1);
  await bed.world.reconciling.stop();
  await writable(ctx)
    .updateTable("clusters")
    .set({ status: "INIT" })
    .where("id", "=", worker.id)
    .execute();
  await provider.lose(worker.id, 0);

  const outcome = await handIn(
    ctx,
    { ...worker, status: "PROVISIONING" },
    AbortSignal.timeout(5_000),
  );

  assert.deepEqual(outcome, { to: "PREEMPTED", reason: "its machine is gone" });
  assert.equal((await findCluster(ctx.db, worker.id))?.everUp, true);
});

test("a job that a worker does not take any more waits for another one", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const head = await bed.agentOf(1);
  await onItsWay(bed, "DONE", () => head.preempt("spot machine reclaimed"));
  await bed.until(1, ({ queuedAt }) => queuedAt !== null);

  assert.equal((await bed.task(1)).clusterId, null);
  assert.ok(!head.node.jobs.some(({ submission }) => submission.run === "never"));
});

test("a submission that reaches a worker after its job was cancelled starts nothing", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const { ctx } = bed.world;
  const { id } = await onItsWay(bed, "CANCELLED");
  await bed.until(1, ({ settledAt }) => settledAt !== null);
  const cluster = await findCluster(ctx.db, (await bed.worker(1)).id);
  assert.ok(cluster);

  const late = { submissionId: `${id}-1`, name: "late", userId: "a", userName: "ann" };
  const more = { setup: null, run: "never", env: {} };
  const job = await ctx.agent(cluster, 0).call(agentOperations.submit, { ...late, ...more });

  assert.notEqual(job.name, "late");
  assert.equal(job.status, "SUCCEEDED");
});

/** A job whose submission is on its way to the first worker; it is looked at after `meanwhile`. */
async function onItsWay(
  bed: PoolBed,
  wanted: JobTask["wanted"],
  meanwhile = () => {},
): Promise<JobTask> {
  await bed.submit("resources: {accelerators: A100:1}\nrun: never");
  const task = await bed.task(1);
  const { id: clusterId } = await bed.worker(1);
  meanwhile();
  await writable(bed.world.ctx)
    .updateTable("job_tasks")
    .set({ attempt: 1, cluster_id: clusterId, status: "STARTING", queued_at: null, wanted })
    .where("id", "=", task.id)
    .execute();
  await bed.look(1);
  return task;
}
