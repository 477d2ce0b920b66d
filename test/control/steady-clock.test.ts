import assert from "node:assert/strict";
import { test } from "node:test";
import { openSteadyClock } from "../../control/steady-clock.ts";

test("a steady clock goes on from what people read, whatever that is set to", () => {
  let [wallMs, monotonicMs] = [1_000_000, 40];
  const steadyNow = openSteadyClock(
    () => wallMs,
    () => monotonicMs,
  );

  assert.equal(steadyNow(), 1_000_000);
  wallMs += 3_600_000;
  monotonicMs += 250;
  assert.equal(steadyNow(), 1_000_250);
});
