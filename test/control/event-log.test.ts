import assert from "node:assert/strict";
import { test } from "node:test";
import { openChanges } from "../../common/changes.ts";
import { openDatabase } from "../../control/db/open.ts";
import { openEventLog } from "../../control/event-log.ts";
import { addEvent } from "../../control/events.ts";

test("readers share a read, but not one that began before the commit that woke them", async (t) => {
  const db = await openDatabase(":memory:");
  t.after(() => db.destroy());
  const log = openEventLog(db, openChanges());
  const add = (reason: string) =>
    db.transaction().execute(async (tx) => {
      await addEvent(tx, { noun: "cluster", id: "c", reason, at: new Date() });
      return tx;
    });
  const tx = await add("one");

  const early = [log.read(0), log.read(0)];
  log.committed(tx);
  const late = log.read(0);

  assert.equal(early[0], early[1]);
  assert.notEqual(late, early[0]);
  for (const { events, upTo, isLast } of await Promise.all([...early, late]))
    assert.deepEqual([events[0]?.reason, upTo, isLast], ["one", 1, true]);
  await add("two");
  assert.equal((await log.read(1)).events[0]?.reason, "two");
});
