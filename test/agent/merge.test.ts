import assert from "node:assert/strict";
import { test } from "node:test";
import { prefixLines } from "../../agent/merge.ts";

const cases = [
  ["", ""],
  ["a\n", "> a\n"],
  ["a\nb", "> a\n> b\n"],
  ["\n\n", "> \n> \n"],
  ["ü\r\n", "> ü\r\n"],
] as const;

for (const [lines, expected] of cases)
  test(`every line gets the prefix: ${JSON.stringify(lines)}`, () => {
    assert.equal(prefixLines(Buffer.from(lines), "> ").toString(), expected);
  });
