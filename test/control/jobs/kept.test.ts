import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { collectJobs } from "../../../control/jobs/collect.ts";
import { taskFolder } from "../../../control/jobs/folders.ts";
import { listJobBlobs } from "../../../control/jobs/store.ts";
import { listBelongings } from "../../../control/users/remove.ts";
import { type JobBed, jobBed, train, withJob } from "./bed.ts";

const dayMs = 86_400_000;

const explanationOf = async ({ world }: JobBed, name: string) =>
  (await world.http("GET", `/explain?name=${name}`)).json;

test("a job that has ended is forgotten with its logs after the time of the setting", async (t) => {
  const bed = await withJob(t, train, { config: { clusterHistoryDays: 1 } });
  const { world } = bed;
  const { id } = await bed.task(1);
  (await bed.agent(1)).end(1, "SUCCEEDED");
  await bed.untilSettled(1);
  await bed.launch();
  await bed.untilTask(2, "RUNNING");
  const known = async () => {
    const { jobs, total, status_counts } = await world.run(rows.queueV2, {});
    const events = await world.ctx.db
      .selectFrom("events")
      .select("seq")
      .where("subject_id", "=", id)
      .execute();
    const isKept = existsSync(taskFolder(world.ctx, id));
    return [jobs.map(({ job_id }) => job_id), total, status_counts, isKept, events.length > 0];
  };

  world.advance(0.9 * dayMs);
  await collectJobs(world.ctx);
  assert.deepEqual(await known(), [[2, 1], 2, { RUNNING: 1, SUCCEEDED: 1 }, true, true]);
  world.advance(0.2 * dayMs);
  await collectJobs(world.ctx);

  assert.deepEqual(await known(), [[2], 1, { RUNNING: 1 }, false, false]);
  assert.equal(await bed.launch(), 3, "numbers are never used again");
});

test("what a job needs that has not ended is kept for it, and its user with it", async (t) => {
  const bed = await jobBed(t);
  const { world } = bed;
  world.provider.offer = undefined;
  const file_mounts_blob_id = "a".repeat(64);
  await world.run(rows.launch, { task: train, name: null, file_mounts_blob_id });
  const kept = async () => [
    await listJobBlobs(world.ctx.db),
    await listBelongings(world.ctx.db, ["local"]),
  ];

  assert.deepEqual(await kept(), [[file_mounts_blob_id], ["managed job 1"]]);
  await world.run(rows.cancel, { job_ids: [1] });
  await bed.untilSettled(1);
  assert.deepEqual(await kept(), [[], []]);
});

test("the cluster of a job is left to the job", async (t) => {
  const bed = await withJob(t);

  await assert.rejects(bed.world.run(clusters.down, { cluster_name: "train-1" }), {
    type: "ConflictError",
    message:
      "cluster train-1 is part of managed job 1, which manages it; outrigger jobs says what can be done",
  });
});

test("explain says what a job waits for, and what is done for its cluster", async (t) => {
  const bed = await jobBed(t);
  const release = bed.world.provider.holds("create");
  await bed.launch();
  await bed.world.provider.held("create");
  await bed.untilTask(1, "STARTING");
  const moving = await explanationOf(bed, "1");
  release();
  await bed.untilTask(1, "RUNNING");
  const running = await explanationOf(bed, "1");

  assert.deepEqual([moving["noun"], moving["status"]], ["managed_job", "STARTING"]);
  assert.match(
    String(moving["doing"]),
    /^cluster train-1 is being created,cluster train-1: creates node 0/,
  );
  assert.deepEqual(running["doing"], ["attempt 1 is on cluster train-1"]);
  assert.deepEqual(await explanationOf(bed, "train"), running);
  assert.equal((await explanationOf(bed, "999999999"))["status"], undefined);
});

test("what happened to a job is in the stream of events, with its number", async (t) => {
  const bed = await withJob(t);

  const { text } = await bed.world.http("GET", "/events?since=0&follow=false&noun=managed_job");

  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
  assert.deepEqual(
    events.map(({ name, job_id, to }) => [name, job_id, to]),
    [
      ["train", 1, "STARTING"],
      ["train", 1, "RUNNING"],
    ],
  );
});
