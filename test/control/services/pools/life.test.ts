import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as jobs } from "../../../../contract/operations/jobs.ts";
import { poolOperations as rows } from "../../../../contract/operations/pools.ts";
import { serveOperations } from "../../../../contract/operations/serve.ts";
import { listTasks } from "../../../../control/jobs/store.ts";
import { findLiveService } from "../../../../control/services/store.ts";
import { addNext } from "../../../../control/services/update.ts";
import { openVersion } from "../../../../control/services/versions/task.ts";
import { until } from "../../../helpers/agent.ts";
import { aPool, poolBed, withPool, work } from "./bed.ts";

test("a pool that is applied has workers, which are READY once their setup is done", async (t) => {
  const bed = await poolBed(t);

  await bed.apply();
  await bed.untilWorker(2, "STARTING");
  const { submission } = await until(async () => (await bed.agentOf(1)).node.jobs[0]);
  await bed.setUp(1, 2);

  assert.equal(submission.setup, "prepare");
  const record = await bed.record();
  assert.deepEqual(
    [record.pool, record.endpoint, record.policy, record.target_num_replicas],
    [true, null, "Fixed-size (2 workers)", 2],
  );
  assert.deepEqual(
    record.replica_info.map(({ replica_id, name, used_by }) => [replica_id, name, used_by]),
    [
      [1, "warm-1", []],
      [2, "warm-2", []],
    ],
  );
  assert.equal((await bed.world.cluster("warm-1")).madeFor?.what, "pool warm");
  assert.deepEqual(await bed.world.run(serveOperations.status, { service_names: null }), []);
});

test("jobs of a pool run on its workers, one on each, and the next one when one is free", async (t) => {
  const bed = await withPool(t);

  const [one, two, three] = [await bed.submit(), await bed.submit(), await bed.submit()];
  const first = await bed.untilTask(one, "RUNNING");
  const second = await bed.untilTask(two, "RUNNING");
  const waiting = await bed.until(three, ({ waitsFor }) => waitsFor !== null);

  assert.deepEqual([first.clusterName, second.clusterName], ["warm-1", "warm-2"]);
  assert.equal(waiting.waitsFor, "waits for an idle worker of pool warm");
  assert.deepEqual(
    (await bed.record()).replica_info.map(({ used_by }) => used_by),
    [[one], [two]],
  );
  const { calls } = bed.world.provider;
  const made = calls.length;
  (await bed.agentOf(2)).end(2, "SUCCEEDED");
  await bed.untilSettled(two);
  assert.equal((await bed.untilTask(three, "RUNNING")).clusterName, "warm-2");
  assert.equal(calls.length, made);
});

test("jobs share a worker as long as it has what they ask for", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  const half = "resources: {accelerators: H100:4}\nrun: half";

  const numbers = [await bed.submit(half), await bed.submit(half), await bed.submit(half)];
  for (const number of numbers.slice(0, 2)) await bed.untilTask(number, "RUNNING");
  await bed.lookAtPool();

  assert.equal((await bed.task(3)).status, "PENDING");
  assert.deepEqual((await bed.record()).replica_info[0]?.used_by, [1, 2]);
});

test("a lost worker is replaced, and its job runs again on another one", async (t) => {
  const bed = await withPool(t);
  await bed.submit();
  const { clusterId } = await bed.untilTask(1, "RUNNING");

  await bed.world.provider.lose(clusterId ?? "", 0);
  const again = await bed.untilAttempt(1, 2);

  assert.deepEqual([again.clusterName, again.recoveries], ["warm-2", 1]);
  await bed.setUp(3);
  (await bed.agentOf(2)).end(2, "SUCCEEDED");
  assert.equal((await bed.untilSettled(1)).status, "SUCCEEDED");
});

test("a silent worker keeps its job and gets no other one", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit("resources: {cpus: 1}\nrun: one");
  const { clusterId } = await bed.untilTask(1, "RUNNING");

  bed.world.provider.agentsStart = false;
  await bed.world.provider.silence(clusterId ?? "", 0);
  await bed.untilWorker(1, "NOT_READY");
  await bed.submit("resources: {cpus: 1}\nrun: two");
  await bed.lookAtPool();

  const [one, two] = [await bed.task(1), await bed.task(2)];
  assert.deepEqual(
    [one.status, one.attempt, two.status, two.attempt],
    ["RUNNING", 1, "PENDING", 0],
  );
});

test("cancelling a job of a pool leaves the worker to the next one", async (t) => {
  const bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  await bed.untilTask(1, "RUNNING");
  await bed.submit();

  await bed.world.run(jobs.cancel, { job_ids: [1] });
  await bed.untilTask(2, "RUNNING");

  assert.equal((await bed.task(1)).status, "CANCELLED");
  assert.equal((await bed.agentOf(1)).node.jobs[1]?.status, "CANCELLED");
});

test("a pool with jobs is not taken down, and purged cancels them", async (t) => {
  const bed = await withPool(t);
  await bed.submit();
  await bed.untilTask(1, "RUNNING");

  await assert.rejects(bed.down(), {
    type: "ConflictError",
    message:
      /pool warm has managed jobs that have not ended: 1; .* purge the pool, which cancels them/,
  });
  assert.equal((await bed.record()).status, "READY");
  await bed.down({ purge: true });

  assert.deepEqual(await bed.world.run(rows.status, { pool_names: null }), []);
  assert.equal((await bed.untilSettled(1)).status, "CANCELLED");
  assert.equal(bed.world.provider.machines.size, 0);
});

test("a pool whose task is applied again gets new workers; a busy one goes when its job has ended", async (t) => {
  const bed = await withPool(t);
  await bed.submit();
  await bed.untilTask(1, "RUNNING");

  await bed.apply({ task: aPool("workers: 2", "envs: {A: b}") });
  await bed.setUp(3);
  await bed.untilWorker(2, "GONE");
  await bed.setUp(4);
  await bed.lookAtPool();

  assert.equal((await bed.task(1)).status, "RUNNING");
  assert.equal((await bed.worker(1)).wanted, "GONE");
  (await bed.agentOf(1)).end(2, "SUCCEEDED");
  await bed.untilWorker(1, "GONE");
  assert.equal((await bed.task(1)).status, "SUCCEEDED");
});

test("a pool that is resized keeps its workers", async (t) => {
  const bed = await withPool(t);

  await bed.apply({ task: null, workers: 3 });
  await bed.setUp(3);
  await bed.apply({ task: null, workers: 1 });
  await bed.untilWorker(3, "GONE");
  await bed.untilWorker(2, "GONE");

  const { version, replica_info: workers } = await bed.record();
  assert.deepEqual(
    workers.map(({ replica_id, status }) => [replica_id, status]),
    [[1, "READY"]],
  );
  assert.equal(version, 3);
});

test("a pool that is resized while another task is applied to it has both", async (t) => {
  const bed = await withPool(t);
  const { ctx, provider } = bed.world;
  const pool = (await findLiveService(ctx.db, "warm")) ?? assert.fail("there is no pool");
  const next = { command: "", mode: "rolling", because: "another apply" } as const;
  const yaml = aPool().replace("prepare", "prepare otherwise");
  const { offers } = provider;
  const meanwhile: typeof offers = async (...need) => {
    await ctx.batch((tx) => addNext(ctx, tx, pool, next, { yaml, blobId: null, tls: null }));
    return offers(...need);
  };
  t.mock.method(provider, "offers", meanwhile, { times: 1 });
  await bed.apply({ task: null, workers: 3 });

  const { task, spec } = await openVersion(ctx, { serviceId: pool.id, version: 3 });
  assert.deepEqual([task.setup, spec.replicas.max], ["prepare otherwise", 3]);
});

test("a pool grows while jobs wait, up to its bound, and goes back to none when all have ended", async (t) => {
  const bed = await poolBed(t);
  const delays = "upscale_delay_seconds: 0, downscale_delay_seconds: 0";
  await bed.apply({ task: aPool(`min_workers: 0, max_workers: 2, ${delays}`) });
  assert.equal((await bed.record()).target_num_replicas, 0);

  for (const number of [1, 2, 3, 4]) assert.equal(await bed.submit(), number);
  await bed.setUp(1, 2);
  for (const number of [1, 2]) await bed.untilTask(number, "RUNNING");
  await bed.lookAtPool();

  const grown = await bed.record();
  assert.deepEqual(
    [grown.target_num_replicas, grown.replica_info.map(({ replica_id: id }) => id)],
    [2, [1, 2]],
  );
  assert.equal((await bed.task(3)).status, "PENDING");
  for (const number of [1, 2, 3, 4]) {
    const { clusterJob } = await bed.untilTask(number, "RUNNING");
    (await bed.agent(number)).end(clusterJob ?? 0, "SUCCEEDED");
  }
  for (const number of [1, 2]) await bed.untilWorker(number, "GONE");
  const { target_num_replicas: target, replica_info: workers } = await bed.record();
  assert.deepEqual([target, workers], [0, []]);
  assert.equal(bed.world.provider.machines.size, 0);
});

test("copies of a job are spread over the workers, and the tasks of a chain follow each other there", async (t) => {
  const bed = await withPool(t);
  const launch = (task: string, num_jobs: number) =>
    bed.world.run(jobs.launch, { task, num_jobs, name: null, pool: "warm" });

  const { job_id: ids } = await launch(work, 3);
  await bed.untilTask(1, "RUNNING");
  await bed.untilTask(2, "RUNNING");
  await bed.until(3, ({ queuedAt }) => queuedAt !== null);
  for (const number of [1, 2]) (await bed.agentOf(number)).end(2, "SUCCEEDED");
  await bed.untilTask(3, "RUNNING");
  await launch("name: c\n---\nrun: a\n---\nrun: b", 1);
  const first = await bed.untilTask(4, "RUNNING");
  (await bed.agent(4)).end(first.clusterJob ?? 0, "SUCCEEDED");
  const second = await until(async () =>
    (await listTasks(bed.world.ctx.db, [4])).find(
      ({ number, status }) => number === 1 && status === "RUNNING",
    ),
  );

  assert.deepEqual(ids, [1, 2, 3]);
  assert.match(second.clusterName, /^warm-[12]$/);
});

test("a job that control had submitted before it was killed is run once, or ended", async (t) => {
  let bed = await withPool(t, aPool("workers: 1"));
  await bed.submit();
  await bed.untilTask(1, "RUNNING");

  bed = await bed.crash();
  (await bed.agentOf(1)).end(2, "SUCCEEDED");

  assert.equal((await bed.untilSettled(1)).status, "SUCCEEDED");
  assert.equal((await bed.agentOf(1)).node.jobs.length, 2);
});

test("a pool with more workers than there can be is refused before anything is stored", async (t) => {
  const bed = await withPool(t);

  const body = { pool_name: "warm", workers: 2 ** 31 - 1, mode: "rolling" };
  const { status, text } = await bed.world.http("POST", "/jobs/pool_apply", { body });

  assert.equal(status, 422);
  assert.match(text, /workers/);
});
