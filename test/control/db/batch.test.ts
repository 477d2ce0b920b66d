import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Batch, openBatch } from "../../../control/db/batch.ts";
import { type Connection, type Database, openDatabase } from "../../../control/db/open.ts";
import { addEvent } from "../../../control/events.ts";

async function anOpenBatch(t: TestContext): Promise<{ db: Database; batch: Batch }> {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  return { db, batch: openBatch(db) };
}

const add = (id: string) => (tx: Connection) =>
  addEvent(tx, { noun: "test", id, reason: "", at: new Date() });

const idsIn = async (db: Database) =>
  (await db.selectFrom("events").select("subject_id").orderBy("seq").execute()).map(
    (row) => row.subject_id,
  );

/** Has the database count its transactions. */
function countCommits(t: TestContext, db: Database): { count: () => number } {
  const { mock } = t.mock.method(db, "transaction");
  return { count: () => mock.callCount() };
}

test("writes of one moment are one transaction, in their order", async (t) => {
  const { db, batch } = await anOpenBatch(t);
  const commits = countCommits(t, db);
  const ids = Array.from({ length: 50 }, (_, at) => `e${at}`);

  await Promise.all(ids.map((id) => batch(add(id))));

  assert.equal(commits.count(), 1);
  assert.deepEqual(await idsIn(db), ids);
});

test("each write gets its own result", async (t) => {
  const { batch } = await anOpenBatch(t);

  assert.deepEqual(await Promise.all([batch(async () => 1), batch(async () => "two")]), [1, "two"]);
});

test("a write that fails fails alone, and nothing of it stays", async (t) => {
  const { db, batch } = await anOpenBatch(t);

  const results = await Promise.allSettled([
    batch(add("a")),
    batch(async (tx) => {
      await add("half")(tx);
      throw new Error("boom");
    }),
    batch(add("b")),
  ]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.deepEqual(await idsIn(db), ["a", "b"]);
});

test("writes that come during a commit are the next one", async (t) => {
  const { db, batch } = await anOpenBatch(t);
  const commits = countCommits(t, db);

  const later: Promise<void>[] = [];
  await batch(async (tx) => {
    later.push(batch(add("b")), batch(add("c")));
    await add("a")(tx);
  });
  await Promise.all(later);

  assert.equal(commits.count(), 2);
  assert.deepEqual(await idsIn(db), ["a", "b", "c"]);
});

test("a database that is closed fails the writes, not the program", async () => {
  const db = await openDatabase(":memory:");
  const batch = openBatch(db);
  await db.destroy();

  const results = await Promise.allSettled([batch(add("a")), batch(add("b"))]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
});
