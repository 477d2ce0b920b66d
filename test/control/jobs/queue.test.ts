import assert from "node:assert/strict";
import { test } from "node:test";
import type { GivenInputOf } from "../../../common/operation.ts";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { ManagedJobRecord } from "../../../contract/records/jobs.ts";
import { sortNames } from "../../../control/jobs/queue-filter.ts";
import { type JobBed, jobBed, withJob } from "./bed.ts";

type Given = GivenInputOf<typeof rows.queueV2>;

const listed = async ({ world }: JobBed, input: Given = {}) => {
  const { jobs, ...page } = await world.run(rows.queueV2, input);
  return { ids: jobs.map(({ job_id }) => job_id), ...page };
};

/** Five jobs: 1 SUCCEEDED, 2 FAILED, the others run. */
async function withFive(t: Parameters<typeof jobBed>[0]): Promise<JobBed> {
  const bed = await jobBed(t);
  for (const name of ["alpha", "beta", "gamma", "delta", "alphabet"])
    await bed.launch(`name: ${name}\nrun: x`);
  for (const id of [1, 2, 3, 4, 5]) await bed.untilTask(id, "RUNNING");
  (await bed.agent(1)).end(1, "SUCCEEDED");
  (await bed.agent(2)).end(1, "FAILED");
  for (const id of [1, 2]) await bed.untilSettled(id);
  return bed;
}

test("managed jobs are listed page by page, filtered, sorted and counted", async (t) => {
  const bed = await withFive(t);
  const counts = { RUNNING: 3, SUCCEEDED: 1, FAILED: 1 };
  const idsOf = async (input: Given) => (await listed(bed, input)).ids;

  const all = await listed(bed);
  assert.deepEqual(all.ids, [5, 4, 3, 2, 1]);
  assert.deepEqual([all.total, all.total_no_filter, all.status_counts], [5, 5, counts]);
  assert.deepEqual(all.infra_options, ["fake"]);
  assert.deepEqual(await idsOf({ page: 2, limit: 2 }), [3, 2]);
  assert.deepEqual(await idsOf({ page: 2, limit: 2, sort_order: "asc" }), [3, 4]);
  assert.deepEqual(await idsOf({ page: 4, limit: 2 }), []);

  const failed = await listed(bed, { statuses: ["FAILED", "SUCCEEDED"] });
  assert.deepEqual([failed.ids, failed.total, failed.status_counts], [[2, 1], 2, counts]);
  const open = await listed(bed, { skip_finished: true, limit: 2, page: 1 });
  assert.deepEqual([open.ids, open.total, open.total_no_filter], [[5, 4], 3, 5]);

  const named = await listed(bed, { name_match: "ALPHA", limit: 1, page: 2 });
  assert.deepEqual([named.ids, named.total], [[1], 2]);
  assert.deepEqual(named.status_counts, { RUNNING: 1, SUCCEEDED: 1 });
  assert.deepEqual(await idsOf({ name_match: "a", statuses: ["FAILED"] }), [2]);
  assert.deepEqual(await idsOf({ sort_by: "job_name", sort_order: "asc" }), [1, 5, 2, 4, 3]);
  assert.deepEqual(await idsOf({ job_ids: [4, 2, 99] }), [4, 2]);
  assert.deepEqual(await idsOf({ pool_match: "warm" }), []);
  assert.deepEqual(await idsOf({ infra_match: "fake", user_match: "local" }), [5, 4, 3, 2, 1]);
  assert.deepEqual(await idsOf({ submitted_before: 1 }), []);
});

/** Three jobs that are over; by all but its number, the second is the first one and the first the last. */
async function withThree(t: Parameters<typeof jobBed>[0]): Promise<JobBed> {
  const bed = await jobBed(t);
  const { ctx, provider } = bed.world;
  provider.offer = undefined;
  for (const [at, place] of [3, 1, 2].entries()) {
    const id = await bed.launch(`name: ${"xabc"[place]}\nrun: x`);
    await bed.until(id, ({ waitsFor }) => waitsFor !== null);
    const job = {
      submitted_at: place * 1_000,
      user_name: `u${place}`,
      workspace: `space-${place}`,
    };
    const pool = place === 2 ? "warm" : null;
    const status = (["CANCELLED", "FAILED", "SUCCEEDED"] as const)[place - 1];
    const times = { started_at: place, ended_at: place, ran_ms: place, settled_at: at + 1 };
    const task = { status: status ?? "FAILED", infra: `cloud-${place}`, recoveries: place };
    await ctx.batch(async (tx) => {
      await tx
        .updateTable("managed_jobs")
        .set({ ...job, pool })
        .where("id", "=", id)
        .execute();
      const change = { ...task, ...times, workspace: job.workspace };
      await tx.updateTable("job_tasks").set(change).where("job_id", "=", id).execute();
    });
  }
  return bed;
}

test("managed jobs are sorted by each key, and found by each filter", async (t) => {
  const bed = await withThree(t);
  const idsOf = async (input: Given) => (await listed(bed, { name_match: "", ...input })).ids;

  for (const sort_by of sortNames) {
    const up = sort_by === "job_id" ? [1, 2, 3] : [2, 3, 1];
    assert.deepEqual(await idsOf({ sort_by, sort_order: "asc" }), up, sort_by);
    assert.deepEqual(await idsOf({ sort_by, sort_order: "desc" }), up.toReversed(), sort_by);
  }
  for (const [input, ids] of [
    [{ workspace_match: "SPACE-1" }, [2]],
    [{ workspace_match: "space" }, [3, 2, 1]],
    [{ submitted_after: 2 }, [3, 1]],
    [{ submitted_after: 2, submitted_before: 2 }, [3]],
    [{ pool_match: "arm" }, [3]],
    [{ pool_match: "cold" }, []],
    [{ infra_match: "cloud-3" }, [1]],
    [{ user_match: "u1", infra_match: "cloud-3" }, []],
  ] as const)
    assert.deepEqual(await idsOf(input), ids, JSON.stringify(input));
});

for (const [what, input] of Object.entries({
  "a page without a limit": { page: 1 },
  "a page before the first": { page: 0, limit: 5 },
  "a status that there is not": { statuses: ["DONE"] },
  "an order that there is not": { sort_by: "colour" },
}))
  test(`a list of managed jobs is refused for ${what}`, async (t) => {
    const bed = await jobBed(t);

    await assert.rejects(listed(bed, input), { type: "ValueError" });
  });

test("a record has every key, and those alone are filled that are asked for", async (t) => {
  const bed = await withJob(t, "name: train\nsecrets: {KEY: very-secret}\nrun: train");
  const recordOf = async (fields: string[] | null) =>
    (await bed.world.run(rows.queueV2, { fields })).jobs[0] ?? assert.fail("no job");

  const whole = await recordOf(null);
  const slim = await recordOf(["job_name", "user_yaml"]);

  for (const record of [whole, slim])
    assert.deepEqual(Object.keys(record), Object.keys(ManagedJobRecord.shape));
  const { status, infra, recovery_count, current_cluster_name, schedule_state } = whole;
  assert.deepEqual(
    [status, infra, recovery_count, current_cluster_name, schedule_state],
    ["RUNNING", "fake", 0, "train-1", "ALIVE"],
  );
  assert.equal(whole.user_yaml, null);
  const filled = Object.entries(slim).filter(([, value]) => value !== null);
  assert.deepEqual(
    filled.map(([name]) => name),
    ["job_id", "task_id", "job_name", "status", "user_yaml"],
  );
  assert.doesNotMatch(JSON.stringify([whole, slim]), /very-secret/);
});

test("the old list has the keys alone that a task has", async (t) => {
  const bed = await withJob(t);

  const [record = {}] = await bed.world.run(rows.queue, {});

  assert.equal("failure_reason" in record, false);
  assert.equal(record.status, "RUNNING");
});

test("a job of several tasks is counted once, with the statuses of all of them", async (t) => {
  const bed = await withJob(t);
  await bed.launch("name: pipe\n---\nname: a\nrun: a\n---\nname: b\nrun: b");
  await bed.untilTask([2, 0], "RUNNING");
  const waiting = (await bed.world.run(rows.queueV2, { job_ids: [2] })).jobs[1];
  const { status, infra, cluster_resources, region } = waiting ?? assert.fail("no second task");
  // Existing clients break where these are null.
  assert.deepEqual([status, infra, cluster_resources, region], ["PENDING", null, "-", "-"]);
  (await bed.agent([2, 0])).end(1, "SUCCEEDED");
  await bed.untilTask([2, 1], "RUNNING");
  await bed.untilSettled([2, 0]);

  const all = await listed(bed, { page: 1, limit: 1 });
  assert.deepEqual([all.ids, all.total, all.total_no_filter], [[2, 2], 2, 2]);
  assert.deepEqual(all.status_counts, { RUNNING: 2, SUCCEEDED: 1 });
  const running = await listed(bed, { statuses: ["RUNNING"] });
  assert.deepEqual([running.ids, running.total], [[2, 2, 1], 2]);
  assert.equal((await listed(bed, { statuses: ["SUCCEEDED"] })).total, 1);
});
