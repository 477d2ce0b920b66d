import assert from "node:assert/strict";
import { test } from "node:test";
import { jobOperations as rows } from "../../../contract/operations/jobs.ts";
import { openDatabase } from "../../../control/db/open.ts";
import type { Ground } from "../../../control/ground.ts";
import { chooseJobs } from "../../../control/jobs/queue-filter.ts";
import { addEndedJobs } from "../../helpers/ended-jobs.ts";

const anybody = { userId: undefined, workspaces: null };
/** More than are looked at in one read; those of each thousand have one name. */
const thousands = 6;

test("jobs are chosen among more than one read takes in", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const names = Array.from({ length: thousands }, (_, at) => (at % 2 === 0 ? "even" : `odd-${at}`));
  await addEndedJobs(db, names, { id: "ada", name: "Ada" });
  const failed = { status: "FAILED" } as const;
  await db.updateTable("job_tasks").set(failed).where("job_id", "in", [1_042, 5_042]).execute();
  const ctx = { db, now: () => new Date() } as unknown as Ground;
  const choose = async (input: object, statuses: readonly "FAILED"[] | null = null) => {
    const { ids, ...rest } = await chooseJobs(
      ctx,
      rows.queueV2.input.body.parse({ limit: 3, page: 1, ...input }),
      anybody,
      statuses,
      true,
    );
    return { ids, ...rest, counts: Object.fromEntries(rest.counts) };
  };

  const odd = { total: 3_000, counts: { SUCCEEDED: 2_998, FAILED: 2 } };
  const byName = { name_match: "ODD" };
  assert.deepEqual(await choose(byName), { ids: [6_000, 5_999, 5_998], ...odd });
  assert.deepEqual(await choose({ ...byName, page: 334 }), { ids: [5_001, 4_000, 3_999], ...odd });
  const upwards = { ...byName, sort_order: "asc", page: 667 };
  assert.deepEqual(await choose(upwards), { ids: [3_999, 4_000, 5_001], ...odd });
  assert.deepEqual(await choose(byName, ["FAILED"]), { ...odd, ids: [5_042, 1_042], total: 2 });
  const sorted = { ...byName, sort_by: "job_name", sort_order: "asc" };
  assert.deepEqual((await choose(sorted)).ids, [1_001, 1_002, 1_003]);
  assert.deepEqual((await choose({ ...sorted, page: 667 })).ids, [3_999, 4_000, 5_001]);
  assert.deepEqual((await choose({ ...sorted, sort_order: "desc" })).ids, [6_000, 5_999, 5_998]);
  for (const nobodys of [{ user_match: "nobody" }, { name_match: "o_d" }, { name_match: "%" }])
    assert.deepEqual(await choose(nobodys), { ids: [], total: 0, counts: {} });
});
