import assert from "node:assert/strict";
import { test } from "node:test";
import { arrivalSeconds } from "../../../contract/balancer-api.ts";
import { openArrivals } from "../../../control/balancer/arrivals.ts";
import { openBalancer } from "../../../control/balancer/balancer.ts";
import { newPassage } from "../../../sidecar/forward/passage.ts";

const startMs = 1_000_000_500;
const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);

test("arrivals are told by whole seconds, the newest last, since the start", () => {
  const arrivals = openArrivals(startMs);
  const at = (ms: number, count = 1) => {
    for (let nth = 0; nth < count; nth += 1) arrivals.count(startMs + ms);
  };

  assert.deepEqual(arrivals.list(startMs), []);
  at(0, 2);
  at(499);
  assert.deepEqual(arrivals.list(startMs + 499), [], "the first second is not over");
  at(500, 4);
  assert.deepEqual(arrivals.list(startMs + 600), [3]);
  at(3_600, 5);
  assert.deepEqual(arrivals.list(startMs + 4_500), [3, 4, 0, 0, 5]);
  assert.equal(arrivals.total, 12);
});

test("what is older than a minute is forgotten, whether or not something came since", () => {
  const arrivals = openArrivals(startMs);
  for (let second = 0; second < 200; second += 1) arrivals.count(startMs + second * 1_000);

  const list = arrivals.list(startMs + 199_500);

  assert.equal(list.length, arrivalSeconds);
  assert.ok(list.every((count) => count === 1));
  assert.equal(sum(arrivals.list(startMs + 229_500)), 30);
  assert.equal(sum(arrivals.list(startMs + 999_500)), 0);
});

test("a clock that is set back loses nothing", () => {
  const arrivals = openArrivals(startMs);
  arrivals.count(startMs + 5_000);
  arrivals.count(startMs + 2_000);

  assert.equal(sum(arrivals.list(startMs + 6_500)), 2);
});

test("a balancer counts on when the clock of its machine is set back", () => {
  let [wall, steady] = [startMs, 0];
  const balancer = openBalancer(
    () => wall,
    () => steady,
  );
  const arrive = () => balancer.choose(newPassage(""), [], () => {});
  const forgets = [arrive()];

  [wall, steady] = [startMs - 3_600_000, 1_500];
  forgets.push(arrive());
  steady = 2_500;

  assert.deepEqual(balancer.report().arrivals, [1, 1]);
  for (const forget of forgets) if (typeof forget === "function") forget();
});
