import assert from "node:assert/strict";
import { appendFileSync, linkSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { earlierLogOf } from "../../../../contract/balancer-api.ts";
import { readRotated } from "../../../../control/services/logs/rotated-file.ts";
import { text } from "../../../helpers/agent.ts";

/** A log in a folder of its own, as its writer has it. */
function aLog(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "log-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "it.log");
  return {
    file,
    add: (bytes: string) => appendFileSync(file, bytes),
    turn: () => renameSync(file, earlierLogOf(file)),
    read: (lines: number) => text(readRotated(file, lines)),
  };
}

test("of a log that was begun anew all that is kept, or its last lines, are read", async (t) => {
  const log = aLog(t);
  log.add("a\nb\nc\n");
  log.turn();
  log.add("d\ne\n");

  assert.equal(await log.read(0), "a\nb\nc\nd\ne\n");
  assert.equal(await log.read(1), "e\n");
  assert.equal(await log.read(2), "d\ne\n");
  assert.equal(await log.read(3), "c\nd\ne\n");
  assert.equal(await log.read(9), "a\nb\nc\nd\ne\n");
});

test("its last lines are found where it was begun anew this moment, and where there is none", async (t) => {
  const log = aLog(t);

  assert.equal(await log.read(2), "");
  log.add("a\nb\nc\n");
  assert.equal(await log.read(2), "b\nc\n");
  log.turn();
  assert.equal(await log.read(2), "b\nc\n");
  log.add("");
  assert.equal(await log.read(2), "b\nc\n");
});

test("where it is begun anew while it is opened, nothing comes twice", async (t) => {
  const log = aLog(t);
  log.add("a\n");
  linkSync(log.file, earlierLogOf(log.file));

  assert.equal(await log.read(0), "a\n");
});

test("lines longer than a block are found", async (t) => {
  const log = aLog(t);
  const long = (letter: string) => `${letter.repeat(100_000)}\n`;
  log.add(long("a") + long("b"));
  log.turn();
  log.add(long("c") + long("d"));

  assert.equal(await log.read(3), long("b") + long("c") + long("d"));
});

test("it is followed from one file to the next, and nothing comes twice or is left out", async (t) => {
  const log = aLog(t);
  log.add("0\n");
  const steps = [
    () => log.add("1\n"),
    () => {
      log.add("2\n");
      log.turn();
    },
    () => log.add("3\n"),
    () => {
      log.turn();
      log.add("4\n");
    },
  ];
  const seen: boolean[] = [];

  const followed = readRotated(log.file, 0, async (hasMore) => {
    if (await hasMore()) return false;
    const step = steps.shift();
    step?.();
    seen.push(await hasMore());
    return step === undefined;
  });

  assert.equal(await text(followed), "0\n1\n2\n3\n4\n");
  assert.deepEqual(seen, [true, true, true, true, false]);
});
