import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { sql } from "kysely";
import { openDatabase } from "../../../control/db/open.ts";
import { addEvent } from "../../../control/events.ts";

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "db-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a database is made once and opened again as it was", async (t) => {
  const file = join(aFolder(t), "new/folder/state.db");

  const first = await openDatabase(file);
  await sql`insert into events (noun, subject_id, reason, at) values ('n', 'id', 'why', 1)`.execute(
    first,
  );
  await first.destroy();
  const second = await openDatabase(file);

  assert.equal((await second.selectFrom("events").selectAll().execute()).length, 1);
  await second.destroy();
});

test("each commit is on disk before it returns", async () => {
  const db = await openDatabase(":memory:");

  const { rows } = await sql<{ synchronous: number }>`PRAGMA synchronous`.execute(db);

  assert.equal(rows[0]?.synchronous, 2);
  await db.destroy();
});

test("no two live clusters have one name", async () => {
  const db = await openDatabase(":memory:");
  const { rows } = await sql<{ sql: string }>`
    select sql from sqlite_master where name = 'clusters_by_live_name'`.execute(db);

  assert.match(rows[0]?.sql ?? "", /UNIQUE INDEX .* ON clusters \(name\) WHERE status <> 'GONE'/);
  await db.destroy();
});

test("a database that a newer version has changed is refused", async (t) => {
  const file = join(aFolder(t), "state.db");
  const db = await openDatabase(file);
  await sql`PRAGMA user_version = 9999`.execute(db);
  await db.destroy();

  await assert.rejects(openDatabase(file), {
    name: "ConfigError",
    message: /state\.db was upgraded by a newer version of control/,
  });
});

test("events keep their ids when the database is migrated", async (t) => {
  const file = join(aFolder(t), "state.db");
  const folder = join(import.meta.dirname, "../../../control/db/migrations");
  const old = new DatabaseSync(file);
  for (const name of readdirSync(folder).sort().slice(0, 6))
    old.exec(readFileSync(join(folder, name), "utf8"));
  old.exec(`PRAGMA user_version = 6;
    INSERT INTO events (seq, noun, subject_id, from_status, to_status, reason, at, is_noteworthy)
    VALUES (3, 'cluster', 'c', 'INIT', 'UP', 'runs', 1, 0), (7, 'service', 's', NULL, NULL, 'look', 2, 1)`);
  const before = old.prepare("SELECT * FROM events").all();
  old.close();

  const db = await openDatabase(file);
  t.after(() => db.destroy());
  const after = await db.selectFrom("events").selectAll().execute();

  assert.deepEqual(
    after.map((row) => ({ ...row })),
    before.map((row) => ({ ...row, actor: null })),
  );
  await sql`DELETE FROM events WHERE seq = 7`.execute(db);
  await db
    .transaction()
    .execute((tx) => addEvent(tx, { noun: "n", id: "i", reason: "next", at: new Date() }));
  const ids = await db.selectFrom("events").select("seq").execute();
  assert.deepEqual(
    ids.map(({ seq }) => seq),
    [3, 8],
  );
});

test("a full disk is told as such, and what is written once it has room again is there", async (t) => {
  const db = await openDatabase(join(aFolder(t), "state.db"));
  t.after(() => db.destroy());
  const add = (reason: string) =>
    db.transaction().execute((tx) => addEvent(tx, { noun: "n", id: "i", reason, at: new Date() }));
  await sql`PRAGMA max_page_count = 1`.execute(db);

  await assert.rejects(add("x".repeat(100_000)), {
    name: "DiskFullError",
    message: /the disk of control is full/,
  });
  await sql`PRAGMA max_page_count = 1000000`.execute(db);
  await add("there is room");

  const rows = await db.selectFrom("events").select("reason").execute();
  assert.deepEqual(
    rows.map(({ reason }) => reason),
    ["there is room"],
  );
});

test("a write with which its transaction ends by itself is what went wrong", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  await sql`create trigger broken before insert on events
    begin select raise(rollback, 'the write broke'); end`.execute(db);

  await assert.rejects(
    db
      .transaction()
      .execute((tx) => addEvent(tx, { noun: "n", id: "i", reason: "", at: new Date() })),
    { message: "the write broke" },
  );
});
