import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sql } from "kysely";
import { openDatabase } from "../../../control/db/open.ts";

test("a database is made once and opened again as it was", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "db-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "new/folder/state.db");

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
