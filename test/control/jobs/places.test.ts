import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../../common/errors.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { wakeQueued } from "../../../control/jobs/places.ts";
import { managedJobs } from "../../../control/jobs/reconcile.ts";
import { jobBed } from "./bed.ts";

const oneJob = { config: { managedJobsAtMost: 1 } };
const oneLaunch = { config: { jobLaunchesAtOnce: 1 } };
const forJob =
  "waits until one of 1 managed jobs has ended, as no more run at the same time (OUTRIGGER_MANAGED_JOBS_AT_MOST)";
const forLaunch =
  "waits until one of 1 managed jobs has its machine, as no more are launched at the same time (OUTRIGGER_JOB_LAUNCHES_AT_ONCE)";

const withPriority = (priority: number): string => `run: x\nresources: {priority: ${priority}}`;
const aGroup = "name: pair\nexecution: parallel\n---\nname: a\nrun: a\n---\nname: b\nrun: b";

test("jobs beyond the limit wait, say for what, and follow by priority, then age", async (t) => {
  const bed = await jobBed(t, oneJob);
  await bed.launch();
  await bed.untilTask(1, "RUNNING");
  for (const priority of [0, 5, 5]) await bed.launch(withPriority(priority));
  for (const id of [2, 3, 4]) await bed.until(id, ({ queuedFor }) => queuedFor === "job");

  const { jobs } = await bed.world.run(rows.queueV2, { statuses: ["PENDING"] });
  assert.deepEqual(
    jobs.map(({ details, schedule_state: state }) => [details, state]),
    Array(3).fill([forJob, "WAITING"]),
  );
  const [event] = await bed.world.run(rows.events, { job_id: 2 });
  assert.equal(event?.reason, forJob);
  const { text } = await bed.world.http("GET", "/explain?name=2");
  assert.deepEqual(JSON.parse(text).doing, [forJob]);
  const order = [];
  for (const id of [1, 3, 4, 2]) {
    await bed.untilTask(id, "RUNNING");
    const open = await bed.world.run(rows.queueV2, { statuses: ["RUNNING"] });
    order.push(open.jobs.map(({ job_id }) => job_id));
    (await bed.agent(id)).end(1, "SUCCEEDED");
    await bed.untilSettled(id);
  }
  assert.deepEqual(order, [[1], [3], [4], [2]]);
});

test("a place that is free again wakes nobody but the job whose turn it is", async (t) => {
  const bed = await jobBed(t, oneJob);
  await bed.launch();
  await bed.untilTask(1, "RUNNING");
  for (const _ of [2, 3, 4]) await bed.launch();
  for (const id of [2, 3, 4]) await bed.until(id, ({ queuedFor }) => queuedFor === "job");
  const passes = bed.world.ctx.reconciling.get("managed_job") ?? assert.fail();
  const woken = t.mock.method(passes, "nudge");

  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.untilTask(2, "RUNNING");

  const waiting = [(await bed.task(3)).id, (await bed.task(4)).id];
  const ids = woken.mock.calls.map(({ arguments: [id] }) => id);
  assert.deepEqual(
    ids.filter((id) => waiting.includes(id)),
    [],
  );
});

for (const [queue, options, waiting] of [
  ["job", oneJob, forJob],
  ["launch", oneLaunch, forLaunch],
] as const)
  test(`copies beyond the limit are queued as they are submitted, and nobody looks at them: ${queue}`, async (t) => {
    const bed = await jobBed(t, options);
    const held = bed.world.provider.holds("create");
    const passes = bed.world.ctx.reconciling.get("managed_job") ?? assert.fail();
    const woken = t.mock.method(passes, "nudge");

    await bed.world.run(rows.launch, { task: "run: x", name: null, num_jobs: 3 });

    const queued = [await bed.task(2), await bed.task(3)];
    assert.deepEqual(
      queued.map(({ queuedFor, waitsFor }) => [queuedFor, waitsFor]),
      Array(2).fill([queue, waiting]),
    );
    const ids = woken.mock.calls.map(({ arguments: [id] }) => id);
    assert.ok(queued.every(({ id }) => !ids.includes(id)));
    held();
    await bed.untilTask(1, "RUNNING");
    if (queue === "launch") await bed.untilTask(3, "RUNNING");
  });

test("those who make room at the same time have the queues looked at once", async (t) => {
  const { world } = await jobBed(t);

  const [first, second] = [wakeQueued(world.ctx), wakeQueued(world.ctx)];
  await first;

  assert.equal(first, second);
  assert.notEqual(wakeQueued(world.ctx), first);
});

test("of the jobs that wait behind others only the first is looked at in each round", async (t) => {
  const bed = await jobBed(t, oneJob);
  for (let id = 1; id <= 4; id += 1) await bed.launch();
  await bed.untilTask(1, "RUNNING");
  for (const id of [2, 3, 4]) await bed.until(id, ({ queuedFor }) => queuedFor === "job");

  const due = await managedJobs.due(bed.world.ctx);

  const { id: second } = await bed.task(2);
  const { id: first } = await bed.task(1);
  assert.deepEqual(
    due.filter((id) => id !== first),
    [second],
  );
});

test("launches beyond the limit wait until one is over", async (t) => {
  const bed = await jobBed(t, oneLaunch);
  const release = bed.world.provider.holds("create");
  await bed.launch();
  await bed.world.provider.held("create");
  await bed.launch();
  const { waitsFor } = await bed.until(2, ({ queuedFor }) => queuedFor === "launch");
  release();

  await bed.untilTask(1, "RUNNING");
  await bed.untilTask(2, "RUNNING");

  assert.equal(waitsFor, forLaunch);
  const { launchingAt, queuedFor, queuedRank } = await bed.task(2);
  assert.deepEqual([launchingAt, queuedFor, queuedRank], [null, null, null]);
});

test("a job that waits for a machine keeps no other from its launch", async (t) => {
  const bed = await jobBed(t, oneLaunch);
  const { provider } = bed.world;
  provider.refuses("fake", new AppError("ResourcesUnavailableError", "no capacity"));
  await bed.launch();
  await bed.until(1, ({ waitsFor }) => /no capacity/.test(waitsFor ?? ""));
  await bed.launch();
  await bed.until(2, ({ waitsFor }) => /no capacity/.test(waitsFor ?? ""));

  const { launchingAt } = await bed.until(1, (task) => task.launchingAt === null);

  assert.equal(launchingAt, null);
});

test("a job whose machine is pending keeps no other from its launch, and says what it waits for", async (t) => {
  const bed = await jobBed(t, oneLaunch);
  const { provider } = bed.world;
  Object.assign(provider, { queues: true, waitsFor: "12 jobs are before it" });
  await bed.launch();
  const waiting = "waits for its cluster: node 0 pending: 12 jobs are before it";
  const { status } = await bed.until(1, ({ waitsFor }) => waitsFor === waiting);
  assert.equal(status, "STARTING");
  await bed.launch();
  await bed.until(2, ({ waitsFor }) => waitsFor === waiting);

  provider.waitsFor = undefined;
  for (const id of [1, 2]) void bed.world.look((await bed.cluster(id)).name);
  await bed.untilTask(1, "RUNNING");
  await bed.untilTask(2, "RUNNING");
});

test("the tasks of a group take one place together", async (t) => {
  const bed = await jobBed(t, oneJob);
  await bed.launch(aGroup);
  await bed.launch();
  await bed.until(2, ({ queuedFor }) => queuedFor === "job");

  const { jobs } = await bed.world.run(rows.queueV2, { job_ids: [1] });

  assert.ok(jobs.length > 1);
  await bed.untilTask(1, "RUNNING");
});

test("a queued job can be cancelled, and then delays no other job", async (t) => {
  const bed = await jobBed(t, oneJob);
  for (let id = 1; id <= 3; id += 1) await bed.launch();
  await bed.untilTask(1, "RUNNING");
  for (const id of [2, 3]) await bed.until(id, ({ queuedFor }) => queuedFor === "job");

  await bed.world.run(rows.cancel, { job_ids: [2] });
  await bed.untilTask(2, "CANCELLED");
  (await bed.agent(1)).end(1, "SUCCEEDED");

  await bed.untilTask(3, "RUNNING");
});

test("jobs that wait behind others go on after a crash, within the limit", async (t) => {
  const before = await jobBed(t, oneJob);
  for (let id = 1; id <= 3; id += 1) await before.launch();
  await before.untilTask(1, "RUNNING");
  for (const id of [2, 3]) await before.until(id, ({ queuedFor }) => queuedFor === "job");
  const bed = await before.crash();

  for (const id of [1, 2, 3]) {
    await bed.untilTask(id, "RUNNING");
    const { jobs } = await bed.world.run(rows.queueV2, { statuses: ["RUNNING"] });
    assert.deepEqual(
      jobs.map(({ job_id }) => job_id),
      [id],
    );
    (await bed.agent(id)).end(1, "SUCCEEDED");
    await bed.untilSettled(id);
  }
});

test("the other tasks of a group that has begun do not wait behind jobs of higher priority", async (t) => {
  const bed = await jobBed(t, { config: { managedJobsAtMost: 1, jobLaunchesAtOnce: 1 } });
  const { provider } = bed.world;
  await bed.launch();
  await bed.untilTask(1, "RUNNING");
  const tasks = [0, 1, 2].map((number) => [2, number] as const);
  await bed.launch(`${aGroup}\n---\nname: c\nrun: c`);
  for (const of of tasks) await bed.until(of, ({ queuedFor }) => queuedFor === "job");

  const release = provider.holds("create");
  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.until([2, 0], ({ launchingAt }) => launchingAt !== null);
  await bed.launch(withPriority(100));
  await bed.until(3, ({ queuedFor }) => queuedFor === "job");
  release();

  for (const of of tasks) await bed.untilTask(of, "RUNNING");
});

test("while many tasks have begun, a copy is queued only where as many jobs have", async (t) => {
  const bed = await jobBed(t, { config: { managedJobsAtMost: 4 } });
  await bed.launch(aGroup);
  for (const number of [0, 1]) await bed.untilTask([1, number], "RUNNING");

  const { job_id: ids = [] } = await bed.world.run(rows.launch, {
    ...{ task: "run: x", name: null, num_jobs: 4 },
  });

  const queued = await Promise.all((ids ?? []).map(async (id) => (await bed.task(id)).queuedFor));
  assert.deepEqual(
    queued.filter((queue) => queue === "job"),
    ["job"],
  );
});
