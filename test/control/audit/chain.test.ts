import assert from "node:assert/strict";
import { test } from "node:test";
import { aLog } from "./log.ts";

const ten = Array.from({ length: 10 }, (_, index) => ({ subject: `cluster c${index + 1}` }));

test("a log that nobody touched is whole, whether it is empty or not", async (t) => {
  const log = await aLog(t);

  const empty = await log.verify();
  await log.add(ten);
  const full = await log.verify();

  assert.deepEqual([empty.entries, empty.broken], [0, null]);
  assert.deepEqual([full.entries, full.next, full.broken], [10, null, null]);
  assert.equal(full.last_hash, (await log.list({ limit: "1" }))[0]?.hash);
});

const copied = (from: number, to: number) =>
  `insert into audit select ${to}, at, user_id, user_name, credential, address, operation, subject, outcome, reason, request_id, hash from audit where seq = ${from}`;

const changed4 = "entry 4 was changed, or is not the one that was written after entry 3";
/** What somebody who can write the database does, and what is said of it. */
const attacks: Readonly<Record<string, { readonly does: string[]; readonly found: string }>> = {
  "an edited entry": {
    does: ["update audit set subject = 'cluster other' where seq = 4"],
    found: changed4,
  },
  "an entry of another user": {
    does: ["update audit set user_name = 'eve' where seq = 4"],
    found: changed4,
  },
  "a refusal that became none": {
    does: ["update audit set outcome = 'refused' where seq = 4"],
    found: changed4,
  },
  "an entry with another hash": {
    does: ["update audit set hash = 'text' where seq = 4"],
    found: changed4,
  },
  "a removed entry": { does: ["delete from audit where seq = 4"], found: "entry 4 is missing" },
  "several removed entries": {
    does: ["delete from audit where seq in (4, 5, 6)"],
    found: "entries 4 to 6 are missing",
  },
  "a removed entry whose place the next ones take": {
    does: ["delete from audit where seq = 4", "update audit set seq = seq - 1 where seq > 4"],
    found: changed4,
  },
  "an inserted entry": {
    does: [
      "update audit set seq = -seq where seq > 3",
      "update audit set seq = 1 - seq where seq < 0",
      copied(5, 4),
    ],
    found: "entry 5 was changed, or is not the one that was written after entry 4",
  },
  "reordered entries": {
    does: [
      "update audit set seq = 99 where seq = 4",
      "update audit set seq = 4 where seq = 5",
      "update audit set seq = 5 where seq = 99",
    ],
    found: changed4,
  },
  "an entry added to the end": {
    does: [copied(4, 11)],
    found: "entry 11 was changed, or is not the one that was written after entry 10",
  },
  "an entry added to the beginning": {
    does: [copied(4, 0)],
    found: "entry 0 was added: all up to entry 0 were dropped",
  },
  "a cut beginning": {
    does: ["delete from audit where seq <= 3"],
    found: "entries 1 to 3 are missing",
  },
  "a cut beginning that looks as if it was dropped for its age": {
    does: [
      "insert into audit_dropped select 1, seq, hash from audit where seq = 3",
      "delete from audit where seq <= 3",
    ],
    found: "entries up to 3 were removed, and not for their age",
  },
};

test("whatever is done to the entries is found and named by number", async (t) => {
  const log = await aLog(t);
  await log.add(ten);
  await log.tamper("create table kept as select * from audit");

  for (const [what, { does, found }] of Object.entries(attacks))
    await t.test(what, async () => {
      await log.tamper(...does);

      assert.equal((await log.verify()).broken, found);
      await log.tamper(
        ...["delete from audit", "delete from audit_dropped"],
        "insert into audit select * from kept",
      );
    });
});

test("a cut end is found by a hash that was kept elsewhere, and an end that only grew is whole", async (t) => {
  const log = await aLog(t);
  await log.add(ten);
  const { last_hash: expect_hash } = await log.verify();
  await log.add(ten);

  const grown = await log.verify({ expect_hash });
  await log.tamper("delete from audit where seq > 8");
  const cut = await log.verify({ expect_hash });

  assert.deepEqual([grown.broken, grown.has_expected], [null, true]);
  assert.deepEqual([cut.broken, cut.has_expected], [null, false]);
});

test("a long log is checked by several calls, each of which goes on where the last one ended", async (t) => {
  const log = await aLog(t);
  const thousand = Array.from({ length: 1_000 }, () => ({}));
  for (let times = 0; times < 21; times += 1) await log.add(thousand);

  const first = await log.verify();
  const second = await log.verify({ from: String(first.next) });
  await log.tamper("update audit set subject = '' where seq = 20500");
  const third = await log.verify({ from: String(first.next) });

  assert.deepEqual([first.entries, first.next, first.broken], [20_000, 20_001, null]);
  assert.deepEqual([second.entries, second.next, second.broken], [1_000, null, null]);
  assert.match(third.broken ?? "", /^entry 20500 was changed/);
});

test("a check that begins after an entry that is gone says so", async (t) => {
  const log = await aLog(t);
  await log.add(ten);
  await log.tamper("delete from audit where seq = 4");

  assert.equal((await log.verify({ from: "5" })).broken, "entry 4 is missing");
});
