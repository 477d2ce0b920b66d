import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { copyIfDue, copyNow, listCopies } from "../../../control/db/copies.ts";
import { checkDatabase, clearMark, isDamage, markInUse } from "../../../control/db/damage.ts";
import { restore } from "../../../control/db/restore.ts";

const hourMs = 3_600_000;

/** A database in use, with a row of its own. */
function aDatabase(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "copies-"));
  const file = join(folder, "state.db");
  const database = new DatabaseSync(file);
  database.exec(
    "PRAGMA user_version = 1; PRAGMA journal_mode = WAL; CREATE TABLE said (word TEXT)",
  );
  t.after(() => {
    if (database.isOpen) database.close();
    rmSync(folder, { recursive: true });
  });
  return {
    ...{ folder, file, database },
    say: (word: string) => database.prepare("INSERT INTO said VALUES (?)").run(word),
  };
}

function wordsIn(file: string): unknown[] {
  const database = new DatabaseSync(file);
  try {
    return database
      .prepare("SELECT word FROM said")
      .all()
      .map(({ word }) => word);
  } finally {
    database.close();
  }
}

test("a database is copied an hour after it was made, then daily, and seven copies are kept", async (t) => {
  const { file, folder, say } = aDatabase(t);
  say("first");
  const start = Date.now();
  const copyAt = (hours: number) => copyIfDue(file, new Date(start + hours * hourMs));

  assert.equal(await copyAt(0.9), false);
  assert.equal(await copyAt(1.1), true);
  assert.equal(await copyAt(25), false);
  const [copy] = listCopies(file);
  assert.deepEqual(wordsIn(copy?.file ?? ""), ["first"]);
  const older = Array.from({ length: 8 }, (_, at) => `state-2020-01-0${at + 1}T00-00-00Z.db`);
  for (const name of older) writeFileSync(join(folder, "copies", name), "");
  say("second");
  assert.equal(await copyAt(26), true);

  const copies = listCopies(file);
  assert.equal(copies.length, 7);
  assert.deepEqual(wordsIn(copies[0]?.file ?? ""), ["first", "second"]);
  assert.ok(readdirSync(join(folder, "copies")).every((name) => name.endsWith(".db")));
});

test("a copy is put back whole, and what was there before is kept aside", async (t) => {
  const { file, folder, database, say } = aDatabase(t);
  say("first");
  await copyIfDue(file, new Date(Date.now() + 2 * hourMs));
  say("second");
  const names = () => readdirSync(folder).filter((name) => name.startsWith("state.db"));
  // As a process that was killed leaves it, its journal not yet taken in.
  const journal = readFileSync(`${file}-wal`);
  database.close();
  writeFileSync(`${file}-wal`, journal);
  truncateSync(file, 100);

  const { copy, aside } = await restore(file, undefined, new Date());

  assert.equal(copy.name, listCopies(file)[0]?.name);
  assert.deepEqual(wordsIn(file), ["first"]);
  assert.equal(readFileSync(aside ?? "").length, 100);
  assert.ok(existsSync(`${aside}-wal`));
  assert.equal(names().length, 3);
});

test("a copy that is not there, or is damaged itself, is not put back", async (t) => {
  const { file, folder, say } = aDatabase(t);
  await assert.rejects(restore(file, undefined, new Date()), {
    name: "NotFoundError",
    message: /there is no copy of .*state\.db/,
  });
  say("first");
  await copyIfDue(file, new Date(Date.now() + 2 * hourMs));
  await assert.rejects(restore(file, "other.db", new Date()), {
    name: "NotFoundError",
    message: /there is no copy other\.db; there are state-/,
  });
  writeFileSync(listCopies(file)[0]?.file ?? "", "no database at all".repeat(100));

  await assert.rejects(restore(file, undefined, new Date()), { name: "ConfigError" });

  assert.deepEqual(wordsIn(file), ["first"]);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes("before")),
    [],
  );
});

test("damage is named with the file and the way back", (t) => {
  const { file, folder, database, say } = aDatabase(t);
  const copy = join(folder, "copy.db");
  for (let at = 0; at < 500; at += 1) say("x".repeat(200));
  copyNow(file, copy);
  checkDatabase(copy, { whole: true });
  const message = /copy\.db is damaged: .*; there is no copy of it; move it away/;

  const bytes = readFileSync(copy);
  writeFileSync(
    copy,
    Buffer.concat([bytes.subarray(0, 8_192), Buffer.alloc(bytes.length - 8_192)]),
  );
  assert.throws(() => checkDatabase(copy, { whole: true }), { name: "ConfigError", message });
  writeFileSync(copy, bytes.subarray(0, bytes.length / 2));
  assert.throws(() => checkDatabase(copy, { whole: true }), { name: "ConfigError", message });
  rmSync(copy);
  new DatabaseSync(copy).exec("CREATE TABLE t (a)");
  assert.throws(() => checkDatabase(copy, { whole: false }), { name: "ConfigError", message });
  writeFileSync(copy, "");
  assert.throws(() => checkDatabase(copy, { whole: false }), { name: "ConfigError", message });
  database.close();
});

test("a use that did not end properly is known at the next one", (t) => {
  const { file } = aDatabase(t);

  assert.equal(markInUse(file), false);
  assert.equal(markInUse(file), true);
  clearMark(file);
  assert.equal(markInUse(file), false);
});

test("a read that ends short and a refined error of a corrupt file are damage, a busy file is none", () => {
  const errorOf = (errcode: number) => Object.assign(new Error("sqlite"), { errcode });

  assert.deepEqual(
    [11, 267, 26, 522, 5, 10, 266].map((code) => isDamage(errorOf(code))),
    [true, true, true, true, false, false, false],
  );
});
