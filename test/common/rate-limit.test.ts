import assert from "node:assert/strict";
import { test } from "node:test";
import { AppError } from "../../common/errors.ts";
import { failTooOften, openRateLimit, retryAfterOf } from "../../common/rate-limit.ts";

function aLimit(options: { keysAtMost?: number } = {}) {
  const clock = { ms: 1_000_000 };
  const limit = openRateLimit({ perSecond: 2, burst: 4, now: () => clock.ms, ...options });
  const takes = (key: string, times: number) =>
    Array.from({ length: times }, () => limit.take(key));
  return { clock, limit, takes };
}

test("a key may use up a burst, and then goes on at the pace of the limit", () => {
  const { clock, takes } = aLimit();

  assert.deepEqual(takes("ada", 6), [0, 0, 0, 0, 500, 500]);
  clock.ms += 500;
  assert.deepEqual(takes("ada", 2), [0, 500]);
  clock.ms += 60_000;
  assert.deepEqual(takes("ada", 5), [0, 0, 0, 0, 500]);
});

test("a key takes nothing from another", () => {
  const { takes } = aLimit();

  takes("ada", 5);

  assert.deepEqual(takes("bob", 1), [0]);
});

test("what is given back can be taken again, and never more than a burst", () => {
  const { limit, takes } = aLimit();
  takes("ada", 4);

  limit.giveBack("ada");
  assert.deepEqual(takes("ada", 2), [0, 500]);
  for (let times = 0; times < 9; times += 1) limit.giveBack("ada");
  assert.deepEqual(takes("ada", 5), [0, 0, 0, 0, 500]);
});

test("so many keys are remembered, those that were used last", () => {
  const { takes } = aLimit({ keysAtMost: 2 });
  takes("ada", 4);
  takes("bob", 4);
  takes("ada", 1);

  takes("eve", 4);

  assert.deepEqual([takes("ada", 1), takes("bob", 1)], [[500], [0]]);
});

test("a clock that is set back locks nobody out for longer than a burst takes", () => {
  const { clock, takes } = aLimit();
  takes("ada", 4);

  clock.ms -= 3_600_000;
  assert.deepEqual(takes("ada", 1), [500]);
  clock.ms += 500;
  assert.deepEqual(takes("ada", 1), [0]);
});

test("who comes too often is told for how long to wait, in whole seconds", () => {
  const refused = (waitMs: number) => {
    try {
      return failTooOften("too many calls", waitMs);
    } catch (error) {
      return error as AppError;
    }
  };

  const error = refused(1_200);

  assert.equal(error.type, "RateLimitError");
  assert.equal(error.message, "too many calls; try again in 2 s");
  assert.equal(retryAfterOf(error), "2");
  assert.equal(retryAfterOf(new AppError("ValueError", "no")), undefined);
});
