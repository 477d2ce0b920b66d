import assert from "node:assert/strict";
import { test } from "node:test";
import { namesWith } from "../../../control/clouds/name-pattern.ts";

const names = ["A100", "A100-80GB", "H100", "RTX4090", "tpu-v5e"];
const found = (pattern: string) => namesWith("name_filter", pattern, names);

test("a pattern is found anywhere in a name", () => {
  assert.deepEqual(found("A100"), ["A100", "A100-80GB"]);
  assert.deepEqual(found("^(A|H)100$"), ["A100", "H100"]);
  assert.deepEqual(found("v[0-9]e?"), ["tpu-v5e"]);
  assert.deepEqual(found("L4"), []);
});

/** Patterns for which matching would take longer than anyone waits. */
const endless = [`${"(.?)".repeat(200)}Z`, "(?:(?:(?:0+)+)+)+y", "(0*)*(0*)*(0*)*(0*)*(0*)*(0*)*x"];

const refusals: readonly [pattern: string, why: RegExp][] = [
  ...endless.map((pattern) => [pattern, /takes too long/] as const),
  ["(.?){1000}Z", /repetition counts/],
  ["(((.?){1000}){1000}){1000}", /repetition counts/],
  ["(", /not a regular expression/],
  ["[z-a]", /not a regular expression/],
].map(([pattern, why]) => [pattern as string, why as RegExp]);

for (const [pattern, why] of refusals)
  test(`${pattern.slice(0, 40)} is refused at once`, () => {
    const before = process.cpuUsage();
    assert.throws(() => namesWith("name_filter", pattern, ["0".repeat(64), "1".repeat(64)]), why);
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < 400_000, `${user + system} µs`);
  });
