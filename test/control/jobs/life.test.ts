import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { attemptLogOf, controllerLogOf } from "../../../control/jobs/folders.ts";
import { managedJobs } from "../../../control/jobs/reconcile.ts";
import { until } from "../../helpers/agent.ts";
import { jobBed, train, withJob } from "./bed.ts";

test("a managed job runs on a cluster of its own, which goes when it has ended", async (t) => {
  const bed = await withJob(t);
  const { clusterId } = await bed.task(1);
  const { submission } = await bed.job(1);
  const cluster = await bed.cluster(1);
  assert.deepEqual([cluster.name, cluster.madeFor?.what], ["train-1", "managed job 1"]);

  (await bed.agent(1)).end(1, "SUCCEEDED");
  const task = await bed.untilSettled(1);

  assert.deepEqual([task.status, task.reason], ["SUCCEEDED", "its run exited with 0"]);
  assert.equal(task.clusterId, clusterId);
  assert.equal((await bed.cluster(1)).status, "GONE");
  assert.deepEqual(await bed.moves(1), [
    "PENDING>STARTING",
    "STARTING>RUNNING",
    "RUNNING>SUCCEEDED",
  ]);
  assert.match(submission.env["SKYPILOT_TASK_ID"] ?? "", /^sky-managed-[\d-]{26}_train_1-0$/);
  assert.equal(submission.env["OUTRIGGER_MANAGED_JOB_ID"], "1");
  assert.equal(submission.env["OUTRIGGER_RECOVERY_COUNT"], "0");
});

test("the events of a machine that has just answered are listened to without another question", async (t) => {
  const bed = await withJob(t);
  const { calls } = await bed.agent(1);
  await until(() => calls.includes("events") || undefined);

  const between = calls.slice(calls.indexOf("configure"), calls.indexOf("events"));
  assert.ok(!between.includes("health"), `${between}`);
});

test("no round looks at a job that runs, while events of its cluster are heard", async (t) => {
  const bed = await withJob(t);
  const { ctx } = bed.world;
  const { id, clusterId } = await bed.task(1);
  await until(() => ctx.watches.has(clusterId ?? "") || undefined);
  assert.deepEqual(await managedJobs.due(ctx), []);

  ctx.watches.forget(clusterId ?? "");

  assert.deepEqual(await managedJobs.due(ctx), [id]);
});

test("the cluster of a managed job shows no secret of its task", async (t) => {
  const bed = await withJob(t, "name: train\nsecrets: {KEY: very-secret}\nrun: train");

  const { taskYaml } = await bed.cluster(1);

  assert.match(taskYaml, /KEY/);
  assert.doesNotMatch(taskYaml, /very-secret/);
});

test("what a managed job printed is kept when its cluster is gone, and so is what was decided", async (t) => {
  const bed = await withJob(t);
  const { id } = await bed.task(1);
  const agent = await bed.agent(1);

  agent.print(1, "step 1\n");
  agent.end(1, "FAILED");
  await bed.untilSettled(1);

  const { ctx } = bed.world;
  assert.equal(readFileSync(attemptLogOf(ctx, id, 1), "utf8"), "step 1\n");
  const told = readFileSync(controllerLogOf(ctx, id), "utf8");
  assert.match(told, /STARTING: cluster train-1 is being created\n.*RUNNING: attempt 1 is on/s);
  assert.match(told, /FAILED: FAILED\n$/);
});

test("the node of a managed job is not asked what matters only to clusters of users", async (t) => {
  const bed = await withJob(t);
  const agent = await bed.agent(1);

  agent.end(1, "SUCCEEDED");
  await bed.untilSettled(1);

  const needless = ["setAutostop", "getIdle", "listJobs", "getLifecycle", "confirmLogs"];
  assert.deepEqual(
    agent.calls.filter((name) => needless.includes(name)),
    [],
  );
});

test("a launch that is repeated after a crash submits one job", async (t) => {
  const bed = await jobBed(t, { queuesClosed: true });
  const request = await bed.world.call(rows.launch, { task: train, name: null });
  const before = await bed.crash();
  const { job_id } = await before.world.get(rows.launch, request);
  await before.untilTask(1, "RUNNING");

  const after = await before.crash();
  await after.untilTask(1, "RUNNING");

  assert.deepEqual(job_id, [1]);
  assert.equal(await after.launch(), 2);
});

test("the same submission id twice is one launch, of its user", async (t) => {
  const { world } = await jobBed(t);
  const input = { task: train, name: null, num_jobs: 2, submission_id: "once" };
  const both = await Promise.all([1, 2].map(() => world.run(rows.launch, input)));
  const other = await (await world.as("bob")).run(rows.launch, input);

  const numbers = [...both, other].map(({ job_id }) => job_id);
  assert.deepEqual(numbers, [
    [1, 2],
    [1, 2],
    [3, 4],
  ]);
});

test("a crash between any two steps makes no second cluster and submits no second job", async (t) => {
  let bed = await jobBed(t);
  const release = bed.world.provider.holds("create");
  await bed.launch();
  await bed.world.provider.held("create");
  bed = await bed.crash();
  release();
  const { clusterId } = await bed.untilTask(1, "RUNNING");
  bed = await bed.crash();
  await bed.look(1);

  assert.equal((await bed.agent(1)).node.jobs.length, 1);
  assert.equal((await bed.task(1)).clusterId, clusterId);
  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.untilSettled(1);
});

test("a job without a machine waits and says so, and starts once there is one", async (t) => {
  const bed = await jobBed(t);
  const { provider } = bed.world;
  const { offer } = provider;
  provider.offer = undefined;
  await bed.launch();
  const { status, waitsFor } = await bed.until(1, (task) => task.waitsFor !== null);
  assert.equal(status, "PENDING");
  assert.match(
    waitsFor ?? "",
    /^waits until there is a machine for it: nothing offers any machine/,
  );

  provider.offer = offer;
  await bed.look(1);

  const running = await bed.untilTask(1, "RUNNING");
  assert.deepEqual([running.waitsFor, running.attempt], [null, 1]);
});

test("a name that a cluster of a user has is left to it", async (t) => {
  const bed = await jobBed(t);
  await bed.world.run(clusters.launch, { cluster_name: "train-1", task: "run: ls" });

  await bed.launch();

  const { clusterName, clusterId } = await bed.untilTask(1, "RUNNING");
  assert.equal(clusterName, `train-1-${clusterId}`);
});

test("a task without anything to run has succeeded once its cluster was up", async (t) => {
  const bed = await jobBed(t);

  await bed.launch("name: empty");

  assert.equal((await bed.untilSettled(1)).status, "SUCCEEDED");
});
