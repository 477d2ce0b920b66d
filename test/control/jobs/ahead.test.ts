import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { findCluster } from "../../../control/clusters/store.ts";
import { until } from "../../helpers/agent.ts";
import { type JobBed, withJob } from "./bed.ts";

const saving = (recovery = "FAILOVER") =>
  `name: train\nresources: {job_recovery: ${recovery}}\nconfig: {hooks: [{run: save}]}\nrun: train`;

/** A job whose machine has notice, while a hook runs there. */
async function noticed(t: TestContext, task = saving()): Promise<JobBed> {
  const bed = await withJob(t, task);
  const agent = await bed.agent(1);
  agent.node.holdsHooks = true;
  agent.preempt("spot machine reclaimed");
  return bed;
}

/** The cluster of its next attempt, once that is up. */
async function untilNextIsUp(bed: JobBed): Promise<string> {
  const { nextClusterId } = await bed.until(1, (task) => task.nextClusterId !== null);
  const id = nextClusterId ?? "";
  await until(async () => (await findCluster(bed.world.ctx.db, id))?.status === "UP" || undefined);
  return id;
}

const machinesOf = ({ world }: JobBed) => world.provider.machines.size;

test("a notice has the next cluster made while hooks run; the task is submitted there once the machine is gone", async (t) => {
  const bed = await noticed(t);
  const next = await untilNextIsUp(bed);
  const { status, attempt, clusterId } = await bed.task(1);
  assert.deepEqual([status, attempt], ["RUNNING", 1]);
  assert.deepEqual(bed.world.provider.agentOf(next, 0).node.jobs, []);
  const agent = await bed.agent(1);
  agent.end((await bed.job(1)).id, "CANCELLED");
  await bed.untilTask(1, "RECOVERING");
  assert.deepEqual(bed.world.provider.agentOf(next, 0).node.jobs, [], "the hook still runs");
  await bed.world.provider.lose(clusterId ?? "", 0);

  const recovered = await bed.untilAttempt(1, 2);
  assert.deepEqual([recovered.clusterId, recovered.nextClusterId], [next, null]);
  assert.equal(machinesOf(bed), 1, "no other one was made");
  const events = await bed.world.run(rows.events, {
    ...{ job_id: 1, limit: null, include_cluster_events: true },
  });
  const up = `cluster train-1-${next}: INIT → UP: every node runs`;
  assert.ok(events.some(({ reason }) => reason === up));
});

test("a job that ends by itself after a notice leaves no cluster behind", async (t) => {
  const bed = await noticed(t);
  await untilNextIsUp(bed);
  const agent = await bed.agent(1);
  agent.end((await bed.job(1)).id, "SUCCEEDED");
  agent.endHook();

  assert.equal((await bed.untilSettled(1)).status, "SUCCEEDED");
  assert.equal(machinesOf(bed), 0);
});

test("a job that is cancelled after a notice leaves no cluster behind", async (t) => {
  const bed = await noticed(t);
  await untilNextIsUp(bed);
  await bed.world.run(rows.cancel, { job_ids: [1] });
  (await bed.agent(1)).endHook();

  assert.equal((await bed.untilSettled(1)).status, "CANCELLED");
  assert.equal(machinesOf(bed), 0);
});

test("a control that was killed after a notice goes on with the cluster that it began", async (t) => {
  const before = await noticed(t);
  const release = before.world.provider.holds("create");
  const { nextClusterId } = await before.until(1, (task) => task.nextClusterId !== null);
  const bed = await before.crash();
  release();

  assert.equal(await untilNextIsUp(bed), nextClusterId);
  assert.equal(machinesOf(bed), 2);
});

test("no cluster is made ahead for a job that must not be recovered", async (t) => {
  const bed = await noticed(t, saving("none"));
  const agent = await bed.agent(1);
  agent.end((await bed.job(1)).id, "CANCELLED");
  agent.endHook();

  assert.equal((await bed.untilSettled(1)).status, "FAILED");
  assert.deepEqual(
    bed.world.provider.calls.filter((call) => call.startsWith("create")),
    ["create 0"],
  );
});
