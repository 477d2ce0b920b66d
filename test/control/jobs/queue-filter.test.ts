import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { openDatabase } from "../../../control/db/open.ts";
import type { Ground } from "../../../control/ground.ts";
import { chooseJobs } from "../../../control/jobs/queue-filter.ts";
import { addEndedJobs } from "../../helpers/ended-jobs.ts";

const anybody = { userId: undefined, workspaces: null };
const ada = { userId: "ada", workspaces: ["default"] };
/** More than are looked at in one read; those of each thousand have one name. */
const thousands = 12;

test("jobs are chosen among more than one read takes in", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const names = Array.from({ length: thousands }, (_, at) => (at % 2 === 0 ? "even" : `odd-${at}`));
  await addEndedJobs(db, names, { id: "ada", name: "Ada" });
  const failed = { status: "FAILED" } as const;
  await db.updateTable("job_tasks").set(failed).where("job_id", "in", [1_042, 11_042]).execute();
  const ctx = { db, now: () => new Date() } as unknown as Ground;
  const choose = async (
    input: object,
    statuses: readonly "FAILED"[] | null = null,
    whose: Parameters<typeof chooseJobs>[2] = anybody,
    all = { jobs: 12_000, tasks: 12_000 },
  ) => {
    const { ids, ...rest } = await chooseJobs(
      ctx,
      rows.queueV2.input.body.parse({ limit: 3, page: 1, ...input }),
      whose,
      statuses,
      { jobs: all.jobs, tasks: new Map([["SUCCEEDED", all.tasks]]) },
    );
    return { ids, ...rest, counts: Object.fromEntries(rest.counts) };
  };

  const odd = { total: 6_000, counts: { SUCCEEDED: 5_998, FAILED: 2 } };
  const byName = { name_match: "ODD" };
  assert.deepEqual(await choose(byName), { ids: [12_000, 11_999, 11_998], ...odd });
  assert.deepEqual(await choose({ ...byName, page: 334 }), {
    ids: [11_001, 10_000, 9_999],
    ...odd,
  });
  const upwards = { ...byName, sort_order: "asc", page: 667 };
  assert.deepEqual(await choose(upwards), { ids: [3_999, 4_000, 5_001], ...odd });
  assert.deepEqual(await choose(byName, ["FAILED"]), { ...odd, ids: [11_042, 1_042], total: 2 });
  const sorted = { ...byName, sort_by: "job_name", sort_order: "asc" };
  assert.deepEqual((await choose(sorted)).ids, [1_001, 1_002, 1_003]);
  assert.deepEqual((await choose({ ...sorted, page: 667 })).ids, [11_999, 12_000, 3_001]);
  assert.deepEqual((await choose({ ...sorted, sort_order: "desc" })).ids, [10_000, 9_999, 9_998]);
  assert.equal((await choose({ ...sorted, limit: null, page: null })).ids.at(-1), 10_000);
  for (const [whose, all] of [
    [ada, { jobs: 12_000, tasks: 12_000 }],
    [ada, { jobs: 9_000, tasks: 9_000 }],
    [anybody, { jobs: 12_000, tasks: 12_001 }],
  ] as const) {
    const chosen = { ...byName, sort_by: "job_name" };
    assert.deepEqual(await choose(chosen, null, whose, all), {
      ids: [10_000, 9_999, 9_998],
      ...odd,
    });
  }
  for (const nobodys of [
    { user_match: "nobody" },
    ...["o_d", "%", "!"].map((name_match) => ({ name_match })),
  ])
    assert.deepEqual(await choose(nobodys), { ids: [], total: 0, counts: {} });
});
