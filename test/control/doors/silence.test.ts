import assert from "node:assert/strict";
import { test } from "node:test";
import { openSilence } from "../../../control/doors/silence.ts";

test("it aborts once no data was received for too long, and no earlier", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  using silence = openSilence(15_000, t.signal);

  t.mock.timers.tick(14_999);
  silence.heard();
  t.mock.timers.tick(14_999);
  assert.equal(silence.signal.aborted, false);

  t.mock.timers.tick(1);
  const { type, message } = silence.signal.reason;
  assert.deepEqual([type, message], ["UnreachableError", "no data was received for 15 s"]);
});

test("it aborts with the signal it was given, and not once it is over", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const given = new AbortController();
  using first = openSilence(15_000, given.signal);
  const second = openSilence(15_000, t.signal);
  second[Symbol.dispose]();

  given.abort();
  t.mock.timers.tick(15_000);

  assert.deepEqual([first.signal.aborted, second.signal.aborted], [true, false]);
});
