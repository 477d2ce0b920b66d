import assert from "node:assert/strict";
import { test } from "node:test";
import {
  capacityOf,
  type Demand,
  firstScaling,
  scale,
} from "../../../../control/services/decisions/scale.ts";
import type { Scaling } from "../../../../control/services/schema.ts";
import { aPolicy } from "./versions.ts";

const policy = aPolicy(1, {
  max: 10,
  targetQps: 2,
  upscaleDelaySeconds: 30,
  downscaleDelaySeconds: 60,
});
const at = (target: number, pressure: Scaling["pressure"] = null): Scaling => ({
  target,
  reason: "as before",
  pressure,
});
const now = 1_000_000;
/** So many requests a second for a minute, none under way. */
const aDemand = (rate: number, more: Partial<Demand> = {}): Demand => ({
  arrivals: Array(60).fill(rate),
  open: 0,
  capacities: [],
  watchedSince: 0,
  ...more,
});
const pressure = (to: "up" | "down", secondsAgo: number) => ({
  to,
  since: now - secondsAgo * 1_000,
});

test("a service begins with its least, and says so", () => {
  assert.deepEqual(firstScaling(aPolicy(1)), {
    target: 1,
    reason: "1 replica is configured",
    pressure: null,
  });
  assert.equal(firstScaling(policy).reason, "the fewest of the 1 to 10 that are configured");
});

/** The target before, since when what is needed, requests a second; the target and pressure then. */
const cases: [string, Scaling, number, number, Scaling["pressure"]][] = [
  ["as many as needed", at(3), 6, 3, null],
  ["more needed since now", at(1), 6, 1, pressure("up", 0)],
  ["more needed for a while", at(1, pressure("up", 29)), 6, 1, pressure("up", 29)],
  ["more needed for long", at(1, pressure("up", 30)), 6, 3, null],
  ["fewer needed since now", at(3), 2, 3, pressure("down", 0)],
  ["fewer needed for long", at(3, pressure("down", 60)), 2, 1, null],
  ["fewer needed, more before", at(3, pressure("up", 30)), 2, 3, pressure("down", 0)],
  ["enough again", at(3, pressure("up", 20)), 6, 3, null],
  ["far more needed than allowed", at(9, pressure("up", 30)), 1_000, 10, null],
  ["none needed", at(2, pressure("down", 60)), 0, 1, null],
  ["a part of a replica needed", at(1, pressure("up", 30)), 2.1, 2, null],
];

for (const [what, before, rate, target, after] of cases)
  test(`the target with ${what}: ${before.target} → ${target}`, () => {
    const scaling = scale(policy, before, aDemand(rate), now);

    assert.deepEqual([scaling.target, scaling.pressure], [target, after]);
  });

test("what was needed since before the clock was set back counts from then on", () => {
  const [before, demand] = [at(1, pressure("up", -7_200)), aDemand(6)];
  const backFor = (seconds: number) =>
    scale(policy, before, { ...demand, watchedSince: now - seconds * 1_000 }, now).target;

  assert.deepEqual([backFor(29), backFor(30)], [1, 3]);
});

test("why the target changed is told in requests a second", () => {
  const { reason } = scale(policy, at(1, pressure("up", 30)), aDemand(6), now);

  assert.equal(reason, "6.0 requests/s need 3 replicas at 2 each");
});

test("from zero the first request brings a replica up at once, and one under way keeps it", () => {
  const fromZero = { ...policy, min: 0 };
  const [one, none] = [[...Array(59).fill(0), 1], Array(60).fill(0)];

  assert.equal(scale(fromZero, at(0), aDemand(0, { arrivals: one, open: 1 }), now).target, 1);
  const waits = scale(fromZero, at(0), aDemand(0, { arrivals: none, open: 1 }), now);
  assert.deepEqual([waits.target, waits.reason], [1, "a request is waiting or in progress"]);
  assert.equal(scale(fromZero, at(0), aDemand(0), now).target, 0);
  const down = at(1, pressure("down", 60));
  assert.equal(scale(fromZero, down, aDemand(0, { arrivals: none, open: 1 }), now).target, 1);
  assert.equal(scale(fromZero, down, aDemand(0), now).target, 0);
});

test("a policy that changed holds at once, and one without a rate never scales", () => {
  assert.equal(scale({ ...policy, max: 4 }, at(7), aDemand(14), now).target, 4);
  assert.equal(scale({ ...policy, min: 3 }, at(1), aDemand(0), now).target, 3);
  assert.equal(scale(aPolicy(2), at(2, pressure("up", 90)), aDemand(1_000), now).pressure, null);
});

test("an autoscaler that knows the machines counts what each of them takes", () => {
  const mixed = { ...policy, targetQps: { A100: 10, L4: 2 } };
  const targetOf = (rate: number, capacities: Demand["capacities"]) =>
    scale(mixed, at(10, pressure("down", 60)), aDemand(rate, { capacities }), now).target;

  assert.equal(targetOf(10, [2, 10]), 1);
  assert.equal(targetOf(11, [2, 10]), 2);
  assert.equal(targetOf(13, [2, 10]), 3);
  assert.equal(targetOf(40, [2, 10]), 5);
  assert.equal(targetOf(3, [undefined, undefined]), 2);
  assert.equal(targetOf(0, [10]), 1);
});

test("what a replica takes is said for its count of accelerators first, then for their kind", () => {
  const targetQps = { A100: 10, "A100:8": 60 };
  const of = (name: string, count: number) => capacityOf({ targetQps }, { name, count });

  assert.deepEqual([of("A100", 8), of("A100", 4), of("L4", 1)], [60, 10, undefined]);
  assert.equal(capacityOf({ targetQps }, null), undefined);
  assert.equal(capacityOf({ targetQps: 3 }, null), 3);
});

test("while control was away nobody knows what was needed: the delay begins anew", () => {
  const back = aDemand(1, { watchedSince: now - 59_000 });
  const before = at(4, pressure("down", 3_600));

  const held = scale(policy, before, back, now);

  assert.deepEqual(held, at(4, pressure("down", 59)));
  assert.equal(scale(policy, held, back, now + 1_000).target, 1);
});
