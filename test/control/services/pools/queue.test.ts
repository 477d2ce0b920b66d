import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as jobs } from "../../../../contract/operations/jobs.ts";
import { group } from "../../jobs/bed.ts";
import { aPool, poolBed, withPool, work } from "./bed.ts";

test("a job stands in the queue of its pool as soon as it is submitted", async (t) => {
  const bed = await withPool(t, aPool("workers: 0"));

  const { waitsFor, queuedAt, job } = await bed.task(await bed.submit());

  assert.deepEqual(
    [waitsFor, queuedAt],
    ["waits for an idle worker of pool warm", job.submittedAt],
  );
});

test("jobs get workers by priority, then age, also when they wait again", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const ranked = (priority: number) => bed.submit(`resources: {priority: ${priority}}\n${work}`);
  await ranked(0);
  await bed.untilTask(1, "RUNNING");
  for (const priority of [0, 5, 5]) await ranked(priority);
  for (const next of [3, 4, 2]) {
    const jobs = (await bed.agentOf(1)).node.jobs;
    (await bed.agentOf(1)).end(jobs.at(-1)?.id ?? 0, "SUCCEEDED");
    await bed.untilTask(next, "RUNNING");
  }
});

test("a task names the pool that it runs in itself; the option wins, and tasks of a pipeline agree", async (t) => {
  const bed = await withPool(t);
  const inPool = (name: string) => `${work}\npool: ${name}`;

  const id = await bed.launch(inPool("warm"));
  const other = await bed.submit(inPool("other"));

  assert.equal((await bed.untilTask(id, "RUNNING")).clusterName, "warm-1");
  assert.equal((await bed.task(other)).job.pool, "warm");
  await assert.rejects(bed.launch(inPool("other")), /there is no pool other/);
  await assert.rejects(
    bed.launch(`name: p\n---\n${inPool("warm")}\n---\nname: eval\nrun: eval`),
    /tasks of a job run in one pool: name it in each of them, or in none/,
  );
});

test("a job of a pool joins a job group, and knows where its tasks are", async (t) => {
  const bed = await withPool(t);
  const root = await bed.launch(group());
  await bed.untilTask([root, 0], "RUNNING");

  const { job_id } = await bed.world.run(jobs.launch, {
    ...{ task: `${work}\npool: warm`, name: null },
    ...{ parent_job_id: root, job_group_explicit: true },
  });
  const joined = await bed.untilTask(job_id?.[0] ?? 0, "RUNNING");

  assert.deepEqual([joined.clusterName, joined.job.joined?.rootId], ["warm-1", root]);
  const { jobs: running } = (await bed.agentOf(1)).node;
  const { env } = running.at(-1)?.submission ?? assert.fail("nothing was handed in");
  assert.match(env["OUTRIGGER_JOBGROUP_HOSTS"] ?? "", /^\S+ trainer-0\.lab$/m);
});

test("a job that is submitted to a pool that is not there is refused", async (t) => {
  const bed = await poolBed(t);

  await assert.rejects(bed.submit(work), {
    type: "NotFoundError",
    message: /there is no pool warm/,
  });
});
