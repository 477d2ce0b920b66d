import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { jobExitCodes } from "../../../contract/statuses.ts";
import { group, jobBed, logOf, pipeline, type TaskRef, train } from "./bed.ts";

const trainer: TaskRef = [1, 0];
const watcher: TaskRef = [1, 1];

test("tasks of a group begin together, and know where the others are", async (t) => {
  const bed = await jobBed(t);
  const release = bed.world.provider.holds("create");
  await bed.launch(group());
  await bed.world.provider.held("create");
  release();
  await bed.untilTask(trainer, "RUNNING");
  await bed.untilTask(watcher, "RUNNING");

  const { env } = (await bed.job(watcher)).submission;

  assert.equal(env["OUTRIGGER_JOBGROUP_NAME"], "lab");
  assert.equal(env["OUTRIGGER_JOBGROUP_TASKS"], "trainer\nwatcher");
  assert.match(env["OUTRIGGER_JOBGROUP_HOSTS"] ?? "", /^\S+ trainer-0\.lab\n\S+ watcher-0\.lab$/);
  assert.equal(env["OUTRIGGER_ROOT_JOB_ID"], "1");
});

test("tasks of a group, and jobs that join it, get machines on which others reach them", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(group());
  await bed.untilTask(trainer, "RUNNING");
  const join = { name: null, parent_job_id: 1, job_group_explicit: true };
  await bed.world.run(rows.launch, { ...join, task: train });
  await bed.launch(train);
  for (const id of [watcher, 2, 3]) await bed.untilTask(id, "RUNNING");

  const clusters = await Promise.all([trainer, watcher, 2, 3].map(bed.cluster));

  assert.deepEqual(
    clusters.map(({ machine }) => machine.reached),
    [true, true, true, undefined],
  );
});

test("a task of a group waits for one that has no machine yet, and says so", async (t) => {
  const bed = await jobBed(t, { hasSpot: true });
  const { provider } = bed.world;
  const { spotOffer } = provider;
  provider.spotOffer = undefined;
  await bed.launch(group().replace("run: watcher", "resources: {use_spot: true}\nrun: watcher"));
  const { status, waitsFor } = await bed.until(trainer, (task) => task.waitsFor !== null);
  assert.deepEqual(
    [status, waitsFor],
    ["STARTING", "waits until task 1 (watcher) of its group has its cluster"],
  );

  provider.spotOffer = spotOffer;
  await bed.look(watcher);

  assert.equal((await bed.untilTask(trainer, "RUNNING")).waitsFor, null);
  assert.equal((await bed.untilTask(watcher, "RUNNING")).attempt, 1);
});

test("tasks that are not primary are cancelled once the primary ones have ended, after their delay", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(group("primary_tasks: [trainer]\ntermination_delay: {watcher: 10m}"));
  await bed.untilTask(watcher, "RUNNING");
  await bed.untilTask(trainer, "RUNNING");

  (await bed.agent(trainer)).end(1, "SUCCEEDED");
  await bed.untilSettled(trainer);
  await bed.look(watcher);
  assert.equal((await bed.task(watcher)).status, "RUNNING");
  bed.world.advance(600_000);
  await bed.look(watcher);
  const { status, reason } = await bed.untilSettled(watcher);

  assert.deepEqual([status, reason], ["CANCELLED", "the primary tasks of its group have ended"]);
  assert.equal(await bed.world.run(rows.wait, { job_id: 1 }), jobExitCodes.SUCCEEDED);
});

test("a primary task that fails ends the others that are not primary at once", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(group("primary_tasks: [trainer]\ntermination_delay: 10m"));
  await bed.untilTask(watcher, "RUNNING");
  await bed.untilTask(trainer, "RUNNING");

  (await bed.agent(trainer)).end(1, "FAILED");
  const { status, reason } = await bed.untilSettled(watcher);

  assert.deepEqual([status, reason], ["CANCELLED", "task 0 (trainer) of its group is FAILED"]);
  assert.equal(await bed.world.run(rows.wait, { job_id: 1 }), jobExitCodes.FAILED);
});

test("without primary tasks every task of a group runs to its own end", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(group());
  await bed.untilTask(watcher, "RUNNING");
  await bed.untilTask(trainer, "RUNNING");

  (await bed.agent(trainer)).end(1, "FAILED");
  await bed.untilSettled(trainer);
  await bed.look(watcher);
  (await bed.agent(watcher)).end(1, "SUCCEEDED");

  assert.equal((await bed.untilSettled(watcher)).status, "SUCCEEDED");
});

test("the log of a pipeline is that of one task after the other, of a group side by side", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(pipeline);
  for (const number of [0, 1, 2]) {
    await bed.untilTask([1, number], "RUNNING");
    const agent = await bed.agent([1, number]);
    agent.print(1, `from ${number}\n`);
    agent.end(1, "SUCCEEDED");
  }
  await bed.untilSettled([1, 2]);
  await bed.launch(group());
  for (const of of [
    [2, 0],
    [2, 1],
  ] as const) {
    await bed.untilTask(of, "RUNNING");
    const agent = await bed.agent(of);
    agent.print(1, "one\ntwo\n");
    agent.end(1, "SUCCEEDED");
  }

  assert.equal((await logOf(bed, { job_id: 1 })).text, "from 0\nfrom 1\nfrom 2\n");
  assert.equal((await logOf(bed, { job_id: 1, task: "train" })).text, "from 1\n");
  const { text, code } = await logOf(bed, { job_id: 2 });
  assert.deepEqual(text.trimEnd().split("\n").toSorted(), [
    "(trainer) one",
    "(trainer) two",
    "(watcher) one",
    "(watcher) two",
  ]);
  assert.equal(code, jobExitCodes.SUCCEEDED);
});

test("copies are jobs of their own that know their rank", async (t) => {
  const bed = await jobBed(t);

  const { job_id } = await bed.world.run(rows.launch, { task: train, name: null, num_jobs: 3 });
  await bed.untilTask(3, "RUNNING");

  assert.deepEqual(job_id, [1, 2, 3]);
  const { env } = (await bed.job(3)).submission;
  assert.deepEqual([env["SKYPILOT_JOB_RANK"], env["OUTRIGGER_NUM_JOBS"]], ["2", "3"]);
});

test("a job joins a group that runs, and is cancelled with it", async (t) => {
  const bed = await jobBed(t);
  await bed.launch(group());
  await bed.untilTask(trainer, "RUNNING");
  const join = { name: null, parent_job_id: 1, parent_task_id: 1, job_group_explicit: true };

  await bed.world.run(rows.launch, { ...join, task: "name: rollout\nrun: rollout" });
  const { job } = await bed.untilTask(2, "RUNNING");
  assert.deepEqual(job.joined, { rootId: 1, number: 2, parentId: 1, parentNumber: 1 });
  assert.equal((await bed.job(2)).submission.env["OUTRIGGER_JOBGROUP_NAME"], "lab");
  assert.equal(
    await bed.world.run(rows.wait, { job_id: 1, task: 2, timeout: 0 }).catch((error) => error.type),
    "TimeoutError",
  );

  await bed.world.run(rows.cancel, { job_ids: [1] });

  assert.equal((await bed.untilSettled(2)).status, "CANCELLED");
  assert.equal((await bed.untilSettled(watcher)).status, "CANCELLED");
  await assert.rejects(bed.world.run(rows.launch, { ...join, task: train }), {
    type: "ValueError",
    message: /job group 1 has ended/,
  });
  const alone = await bed.world.run(rows.launch, {
    ...{ ...join, job_group_explicit: false, task: train },
  });
  assert.equal((await bed.task(alone.job_id?.[0] ?? 0)).job.joined, null);
});

test("jobs that have joined a group know each other, until they have ended", async (t) => {
  const bed = await jobBed(t);
  const join = { name: null, parent_job_id: 1, job_group_explicit: true };
  const joined = async (of: number) => {
    await bed.world.run(rows.launch, { ...join, task: `name: rollout-${of}\nrun: rollout` });
    await bed.untilTask(of, "RUNNING");
    const { env } = (await bed.job(of)).submission;
    const hosts = env["OUTRIGGER_JOBGROUP_HOSTS"]?.replaceAll(/^\S+ /gm, "").split("\n");
    return [env["OUTRIGGER_JOBGROUP_TASKS"]?.split("\n"), hosts];
  };
  await bed.launch(group());
  await bed.untilTask(trainer, "RUNNING");
  await bed.untilTask(watcher, "RUNNING");

  const first = await joined(2);
  const second = await joined(3);
  (await bed.agent(2)).end(1, "SUCCEEDED");
  await bed.untilSettled(2);
  const third = await joined(4);

  const namesWith = (...others: string[]) => {
    const tasks = ["trainer", "watcher", ...others];
    return [tasks, tasks.map((name) => `${name}-0.lab`)];
  };
  assert.deepEqual(first, namesWith("rollout-2"));
  assert.deepEqual(second, namesWith("rollout-2", "rollout-3"));
  assert.deepEqual(third, namesWith("rollout-3", "rollout-4"));
});

for (const [what, input, type, message] of [
  ["no copies", { num_jobs: 0 }, "ValueError", /num_jobs must be at least 1/],
  ["too many copies", { num_jobs: 1_001 }, "ValueError", /at most 1000 tasks/],
  [
    "a job as a group",
    { parent_job_id: 7, job_group_explicit: true },
    "ValueError",
    /no managed job 7/,
  ],
  ["no group to join", { job_group_explicit: true }, "ValueError", /give parent_job_id/],
  [
    "twins",
    { task: "name: c\n---\nname: a\nrun: a\n---\nname: a\nrun: b" },
    "ValueError",
    /two tasks are named a/,
  ],
  [
    "two priorities",
    { task: "name: c\n---\nresources: {priority: 1}\nrun: a\n---\nrun: b" },
    "ValueError",
    /have one priority/,
  ],
] as const)
  test(`${what}: refused`, async (t) => {
    const bed = await jobBed(t);

    await assert.rejects(bed.world.run(rows.launch, { task: train, name: null, ...input }), {
      type,
      message,
    });
  });
