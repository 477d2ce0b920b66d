import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { pino } from "pino";
import { readConfig } from "../../control/config.ts";
import { markInUse } from "../../control/db/damage.ts";
import { databaseOf } from "../../control/home.ts";
import { closeContext, openContext } from "../../control/open.ts";

test("after a use that did not end properly, a database is checked whole before it serves", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "open-"));
  t.after(() => rmSync(home, { recursive: true }));
  const config = readConfig({ OUTRIGGER_HOME: home });
  const open = () => openContext(config, pino({ level: "silent" }), { providers: [] });
  const file = databaseOf(home);
  await closeContext(await open());
  damageIndex(file, "services_gone");

  await closeContext(await open());
  markInUse(file);

  await assert.rejects(open(), { type: "ConfigError", message: /state\.db is damaged: / });
});

/** Overwrites the page at which an index begins; nobody reads it who does not look for its rows. */
function damageIndex(file: string, name: string): void {
  const database = new DatabaseSync(file);
  const pageBytes = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
  const find = database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?");
  const page = Number(find.get(name)?.["rootpage"]);
  database.close();
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(pageBytes, "x"), 0, pageBytes, (page - 1) * pageBytes);
  closeSync(descriptor);
}
