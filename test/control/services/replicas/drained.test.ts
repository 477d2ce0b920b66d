import assert from "node:assert/strict";
import { test } from "node:test";
import { hasHadItsTime } from "../../../../control/services/replicas/drained.ts";
import { drainMs } from "../../../../control/services/schema.ts";

const at = 1_800_000_000_000;
const hourMs = 3_600_000;

test("what is under way has its whole time, whatever is done to the clock", () => {
  const until = at + drainMs;
  const cases: [what: string, now: number, backAt: number, isOver: boolean][] = [
    ["not yet", until - 1, at - hourMs, false],
    ["its time is over", until, at - hourMs, true],
    ["the clock was set forward", at + hourMs, at + hourMs, false],
    ["the clock was set forward, long ago", at + hourMs + drainMs, at + hourMs, true],
    ["the clock was set back", at - hourMs, at - hourMs, false],
    ["the clock was set back, long ago", at - hourMs + drainMs, at - hourMs, true],
    ["control came back", until, at + 1_000, false],
  ];
  for (const [what, now, backAt, isOver] of cases)
    assert.equal(hasHadItsTime(until, now, backAt), isOver, what);
});

test("nobody has looked for balancers yet: the row alone counts", () => {
  assert.equal(hasHadItsTime(at + drainMs, at + drainMs), true);
  assert.equal(hasHadItsTime(at + drainMs, at), false);
});
