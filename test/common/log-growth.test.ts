import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, statSync, truncateSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  growthFileOf,
  listGrowth,
  offsetSince,
  recordGrowth,
  writeGrowth,
} from "../../common/log-growth.ts";

const noon = Date.UTC(2026, 0, 31, 12);

/** A log that is written to at instants of our choosing. */
function aLog(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "growth-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "run.log");
  const write = (text: string, at: number) => {
    appendFileSync(file, text);
    utimesSync(file, at / 1_000, at / 1_000);
  };
  return { file, write };
}

test("a log that was recorded says when its bytes were written, also those of the last second", (t) => {
  const { file, write } = aLog(t);
  for (const [text, ms] of [
    ["one\n", 0],
    ["two\n", 400],
    ["three\n", 1_200],
    ["end\n", 1_500],
  ] as const) {
    write(text, noon + ms);
    recordGrowth(file);
  }

  assert.deepEqual(listGrowth(file, 0, 9), [
    { size: 4, at: noon },
    { size: 14, at: noon + 1_200 },
    { size: 18, at: noon + 1_500 },
  ]);
  assert.deepEqual(listGrowth(file, 14, 9), [{ size: 18, at: noon + 1_500 }]);
  assert.deepEqual(listGrowth(file, 0, 1), [{ size: 4, at: noon }]);
  assert.deepEqual(listGrowth(file, 18, 9), []);
});

test("what was written while nobody recorded it is as old as the last of it", (t) => {
  const { file, write } = aLog(t);
  write("one\n", noon);
  recordGrowth(file);
  write("two\n", noon + 10_000);
  write("three\n", noon + 60_000);
  recordGrowth(file);

  assert.deepEqual(listGrowth(file, 4, 9), [{ size: 14, at: noon + 60_000 }]);
});

test("nothing that was written at an instant or later is left out", (t) => {
  const { file, write } = aLog(t);
  for (const [text, ms] of [
    ["one\n", 0],
    ["two\n", 2_000],
    ["three\n", 4_000],
  ] as const) {
    write(text, noon + ms);
    recordGrowth(file);
  }

  const offsets = [-1, 0, 1, 2_000, 2_001, 4_000, 4_001].map((ms) => offsetSince(file, noon + ms));
  assert.deepEqual(offsets, [0, 0, 4, 4, 8, 8, 14]);
});

test("a log that goes on for a year has few records", (t) => {
  const { file, write } = aLog(t);
  const day = 86_400_000;
  write("one\n", noon);
  recordGrowth(file);
  write("two\n", noon + 365 * day);
  recordGrowth(file);
  for (let second = 1; second <= 400; second += 1) {
    write(".", noon + 365 * day + second * 1_000);
    recordGrowth(file);
  }

  assert.equal(statSync(growthFileOf(file)).size / 16, 3);
});

test("a part of a record, which a full disk left, is replaced", (t) => {
  const { file, write } = aLog(t);
  write("one\n", noon);
  recordGrowth(file);
  write("two\n", noon + 2_000);
  recordGrowth(file);
  truncateSync(growthFileOf(file), 20);
  write("three\n", noon + 4_000);
  recordGrowth(file);

  assert.deepEqual(listGrowth(file, 0, 9), [
    { size: 4, at: noon },
    { size: 14, at: noon + 4_000 },
  ]);
});

test("a log without records is as old as its last byte; without a log there is nothing", (t) => {
  const { file, write } = aLog(t);
  recordGrowth(file);
  assert.deepEqual([listGrowth(file, 0, 9), offsetSince(file, noon)], [[], 0]);

  write("one\n", noon);
  assert.deepEqual(listGrowth(file, 0, 9), [{ size: 4, at: noon }]);

  writeGrowth(file, [{ size: 2, at: noon - 5 }]);
  assert.deepEqual(listGrowth(file, 0, 9), [
    { size: 2, at: noon - 5 },
    { size: 4, at: noon },
  ]);
});
