import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { offsetOfLastLines } from "../../common/growing-file.ts";

/** A file with this text. */
function aFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "grows-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "log");
  writeFileSync(file, text);
  return file;
}

/** A text, how many lines of it are wanted, and what these are. */
const tails: readonly [string, number, string][] = [
  ["", 1, ""],
  ["one", 1, "one"],
  ["one\n", 1, "one\n"],
  ["one\ntwo\n", 1, "two\n"],
  ["one\ntwo", 1, "two"],
  ["one\ntwo\nthree\n", 2, "two\nthree\n"],
  ["one\ntwo\n", 9, "one\ntwo\n"],
  ["\n\n\n", 2, "\n\n"],
  [`${"x".repeat(200_000)}\nend\n`, 1, "end\n"],
  [`first\n${"x".repeat(200_000)}\n`, 1, `${"x".repeat(200_000)}\n`],
  [`${"0123456789\n".repeat(20_000)}`, 15_000, "0123456789\n".repeat(15_000)],
];

for (const [text, lines, wanted] of tails)
  test(`the last ${lines} of ${text.split("\n").length - 1} lines, ${text.length} bytes`, async (t) => {
    const file = aFile(t, text);

    const offset = await offsetOfLastLines(file, lines);

    assert.equal(text.slice(offset), wanted);
  });

test("the last lines of no file begin at 0", async () => {
  assert.equal(await offsetOfLastLines("/nowhere/at/all", 3), 0);
});

test("the last lines are not looked for in a hole", async (t) => {
  const before = "one\ntwo\n";
  const file = aFile(t, `${before}${"\n".repeat(100_000)}cut\nthree\n`);
  const hole = { from: before.length, to: before.length + 100_000 };

  assert.equal(await offsetOfLastLines(file, 1, hole), hole.to + 4);
  assert.equal(await offsetOfLastLines(file, 4, hole), 0);
});
