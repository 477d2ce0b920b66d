import assert from "node:assert/strict";
import { test } from "node:test";
import { collectAudit } from "../../../control/audit/collect.ts";
import { aLog } from "./log.ts";

const dayMs = 86_400_000;
const old = (days: number) => ({ at: Date.now() - days * dayMs });

test("entries older than the setting are dropped, and what is left verifies", async (t) => {
  const log = await aLog(t, { config: { auditDays: 30 } });
  await log.add([...Array.from({ length: 5_000 }, () => old(40)), old(32), old(29), old(1)]);

  await collectAudit(log.world.ctx);
  const kept = await log.list();
  const verdict = await log.verify();

  assert.deepEqual(
    kept.map(({ seq, operation, subject }) => [seq, operation, subject]),
    [
      [5_006, "audit.drop", "entries up to 5001"],
      [5_005, "audit.drop", "entries up to 4000"],
      [5_004, "audit.drop", "entries up to 2000"],
      [5_003, "stop", "cluster demo"],
      [5_002, "stop", "cluster demo"],
    ],
  );
  assert.deepEqual([verdict.entries, verdict.broken], [5, null]);
});

test("dropping goes on from where it was, once a day", async (t) => {
  const log = await aLog(t, { config: { auditDays: 30 } });
  await log.add([old(40), old(30.5), old(29.9), old(1)]);
  const first = async () => (await log.list()).at(-1)?.seq;

  await collectAudit(log.world.ctx);
  assert.equal(await first(), 3);
  log.world.advance(0.5 * dayMs);
  await collectAudit(log.world.ctx);
  assert.equal(await first(), 3);
  log.world.advance(dayMs);
  await collectAudit(log.world.ctx);

  assert.equal(await first(), 4);
  assert.equal((await log.verify()).broken, null);
  assert.equal((await log.verify({ from: "2" })).broken, null);
});

test("the newest entry stays however old it is, and the next is chained to it", async (t) => {
  const log = await aLog(t, { config: { auditDays: 0 } });
  await log.add([old(9), old(8), old(7)]);

  await collectAudit(log.world.ctx);
  await log.add([{}]);

  assert.deepEqual(
    (await log.list()).map(({ seq }) => seq),
    [5, 4, 3],
  );
  assert.equal((await log.verify()).broken, null);
});

test("a negative number of days keeps every entry", async (t) => {
  const log = await aLog(t, { config: { auditDays: -1 } });
  await log.add([old(9_000), {}]);

  await collectAudit(log.world.ctx);

  assert.equal((await log.list()).length, 2);
});
