import assert from "node:assert/strict";
import { mock, type TestContext, test } from "node:test";
import type { BalancerReport } from "../../../contract/balancer-api.ts";
import { openArrivals } from "../../../control/balancer/arrivals.ts";
import { reportsOf } from "../../../control/balancer/reports.ts";

/** Reports of a balancer that does nothing, by a clock that the test moves. */
function aSource(t: TestContext) {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const leaving = new AbortController();
  const listeners = new Set<() => void>();
  const arrivals = openArrivals(0);
  const state = { open: 0 };
  const report = () => ({ ...state }) as BalancerReport;
  const told: number[] = [];
  const done = (async () => {
    for await (const { open } of reportsOf({ report, listeners, arrivals }, leaving.signal))
      told.push(open);
  })();
  /** Lets so many seconds pass; answers how many reports came. */
  const pass = async (seconds: number) => {
    const before = told.length;
    await new Promise(setImmediate);
    for (let nth = 0; nth < seconds; nth += 1) {
      await new Promise(setImmediate);
      mock.timers.tick(1_000);
      await new Promise(setImmediate);
    }
    return told.length - before;
  };
  return { arrivals, listeners, state, told, pass, leaving, done };
}

test("there is a report at once, and every five seconds while nothing happens", async (t) => {
  const { told, pass } = aSource(t);
  await pass(0);
  assert.equal(told.length, 1);

  assert.equal(await pass(4), 0);
  assert.equal(await pass(1), 1);
  assert.equal(await pass(10), 2);
});

test("every second while requests are under way, and once more when they have ended", async (t) => {
  const { state, pass, told } = aSource(t);
  await pass(1);
  state.open = 2;

  assert.equal(await pass(3), 3);
  state.open = 0;
  assert.equal(await pass(1), 1);
  assert.equal(told.at(-1), 0);
  assert.equal(await pass(4), 0);
});

test("every second while requests come, and once more when their last second is over", async (t) => {
  const { arrivals, pass } = aSource(t);
  await pass(1);
  arrivals.count(1_500);
  assert.equal(await pass(1), 1);
  arrivals.count(2_500);

  assert.equal(await pass(1), 1);
  assert.equal(await pass(1), 1);
  assert.equal(await pass(4), 0);
});

test("at once with each change, and no more once nobody listens", async (t) => {
  const { listeners, pass, leaving, done } = aSource(t);
  await pass(0);
  const change = async () => {
    for (const listener of listeners) listener();
    return pass(0);
  };
  const told = async () => {
    await change();
    await new Promise(setImmediate);
  };
  await told();
  assert.equal(await pass(4), 0);
  await told();
  assert.equal(await pass(4), 0, "a change starts the time anew");

  leaving.abort();
  await done;

  assert.equal(listeners.size, 0);
});
