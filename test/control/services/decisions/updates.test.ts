import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  checkNoFlapping,
  checkSettled,
  type Document,
  type Moment,
  Simulator,
} from "./simulator.ts";
import { aPolicy } from "./versions.ts";

const crashes = () => ({ readyAfterMs: Infinity, failsAfterMs: 5_000 });
/** Longer than seven replicas take that are replaced one after another. */
const settlesInS = 450;
/** Updates of healthy services: how many, how, and how long each new replica takes. */
const updates = fc.record({
  target: fc.integer({ min: 1, max: 5 }),
  next: fc.integer({ min: 1, max: 5 }),
  overprovision: fc.integer({ min: 0, max: 2 }),
  limits: fc.constantFrom(
    ...[
      [1, 0],
      [0, 1],
      [1, 1],
      [2, 0],
      [0, 2],
      [3, 2],
    ],
  ),
  mode: fc.constantFrom("rolling" as const, "blue_green" as const),
  delays: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 20, maxLength: 20 }),
  /** When the update after this one comes. */
  secondAfter: fc.option(fc.integer({ min: 1, max: 100 })),
});

test("an update of a healthy service never has too few ready nor too many live, and settles", () => {
  const check = fc.property(updates, ({ limits, delays, mode, ...given }) => {
    const { target, next, overprovision, secondAfter } = given;
    const [maxSurge = 0, maxUnavailable = 0] = limits;
    const documentOf = (replicas: number): Document => ({
      mode,
      policy: aPolicy(replicas, { overprovision }),
      update: { maxSurge, maxUnavailable },
      life: ({ number }) => ({ readyAfterMs: 1_000 * (delays[number % delays.length] ?? 1) }),
    });
    const service = new Simulator(documentOf(target));
    service.pass(60);
    service.update(documentOf(next));
    if (secondAfter !== null) {
      service.pass(secondAfter);
      service.update(documentOf(next));
    }
    service.pass(settlesInS);

    const during = service.trace.slice(60);
    const least = Math.min(target, next) - (mode === "rolling" ? maxUnavailable : 0);
    const most = Math.max(target, next) + overprovision + maxSurge;
    for (const { serving, live, atMs } of during) {
      assert.ok(serving >= least, `${serving} serve at ${atMs}, not ${least}`);
      if (mode === "rolling") assert.ok(live <= most, `${live} live at ${atMs}, not ${most}`);
    }
    checkNoFlapping(service.trace);
    checkSettled(service.trace, secondAfter === null ? 2 : 3, next);
  });
  fc.assert(check, { numRuns: 150, seed: 6 });
});

/** The moment after an update at which what is ready is away, and for how long. */
const blinks = fc.record({
  after: fc.integer({ min: 0, max: 90 }),
  for: fc.integer({ min: 1, max: 60 }),
});

test("replicas that are away for a moment are there again after it, as many as an update must leave", () => {
  const check = fc.property(updates, blinks, ({ target, limits, delays, mode }, blink) => {
    const [maxSurge = 0, maxUnavailable = 0] = limits;
    const document: Document = {
      mode,
      policy: aPolicy(target),
      update: { maxSurge, maxUnavailable },
      life: ({ number }) => ({ readyAfterMs: 1_000 * (delays[number % delays.length] ?? 1) }),
    };
    const service = new Simulator(document);
    service.pass(60);
    service.update(document);
    service.pass(blink.after);
    service.blink(blink.for);
    const least = target - (mode === "rolling" ? maxUnavailable : 0);
    for (let second = 0; second < settlesInS; second += 1) {
      const [{ serving, live, atMs } = service.now] = service.pass(1);
      if (service.isThere) assert.ok(serving >= least, `${serving} serve at ${atMs}, not ${least}`);
      if (mode === "rolling") assert.ok(live <= target + maxSurge, `${live} live at ${atMs}`);
    }
    checkNoFlapping(service.trace);
    checkSettled(service.trace, 2, target);
  });
  fc.assert(check, { numRuns: 150, seed: 6 });
});

test("old replicas that do not come back are replaced all the same", () => {
  for (const update of [
    { maxSurge: 1, maxUnavailable: 0 },
    { maxSurge: 0, maxUnavailable: 1 },
  ]) {
    const service = new Simulator({ policy: aPolicy(3), update });
    service.pass(60);
    service.update({ policy: aPolicy(3), update });
    service.blink(10_000);
    service.pass(300);

    checkSettled(service.trace, 2, 3);
  }
});

test("a blue-green update has the new set whole before it serves, and switches at once", () => {
  const document = { mode: "blue_green" as const, policy: aPolicy(2) };
  const service = new Simulator(document);
  service.pass(30);
  const life = ({ number }: { number: number }) => ({ readyAfterMs: number * 10_000 });
  service.update({ ...document, life });
  const trace = service.pass(60);

  const rolesIn = ({ decision, replicas }: Moment, version: number) => [
    ...new Set(
      replicas
        .filter((one) => one.version === version)
        .map((one) => decision.roles.get(one.number)),
    ),
  ];
  const pairs = trace.slice(1).map((moment) => [rolesIn(moment, 1), rolesIn(moment, 2)]);
  const seen = pairs.filter((pair, at) => String(pair) !== String(pairs[at - 1]));
  assert.deepEqual(seen, [
    [["serving"], ["standby"]],
    [["draining"], ["serving"]],
    [[], ["serving"]],
  ]);
});

for (const mode of ["rolling", "blue_green"] as const)
  test(`a ${mode} version that never gets ready is given up, though the old one is long healthy`, () => {
    const policy = aPolicy(2);
    const service = new Simulator({ policy });
    service.pass(1_000);
    service.update({ mode, policy, life: crashes });
    const trace = service.pass(300);

    assert.ok(trace.every(({ serving }) => serving === 2));
    assert.match(service.versions[1]?.givenUp ?? "", /^3 replicas of version 2 failed .* crashed$/);
    assert.ok(trace.flatMap(({ decision }) => decision.start).length <= 4);
    checkNoFlapping(trace);
    checkSettled(trace, 1, 2);
  });

for (const failsAfterS of [60, 3_000])
  test(`a blue-green version of which one is ready and the rest fail after ${failsAfterS} s is given up`, () => {
    const policy = aPolicy(3);
    const service = new Simulator({ policy });
    service.pass(60);
    const failsAfterMs = failsAfterS * 1_000;
    const life = ({ number }: { number: number }) =>
      number === 4 ? { readyAfterMs: 20_000 } : { readyAfterMs: Infinity, failsAfterMs };
    service.update({ mode: "blue_green", policy, life });
    const trace = service.pass(3 * failsAfterS + 300);

    assert.ok(trace.every(({ serving }) => serving === 3));
    assert.match(
      service.versions[1]?.givenUp ?? "",
      /^3 replicas of version 2 failed before all of it was ready; the latest: crashed$/,
    );
    const served = trace.flatMap(({ decision, replicas }) =>
      replicas.filter(
        ({ number, version }) => version === 2 && decision.roles.get(number) === "serving",
      ),
    );
    assert.deepEqual(served, []);
    checkNoFlapping(trace);
    checkSettled(trace, 1, 3);
  });

/** A healthy service of three, and a rolling update of which only these get ready. */
function halfway(update: Document["update"] & object, ...healthy: readonly number[]) {
  const policy = aPolicy(3);
  const service = new Simulator({ policy, update });
  service.pass(60);
  const life = ({ number }: { number: number }) =>
    healthy.includes(number) ? { readyAfterMs: 20_000 } : crashes();
  service.update({ policy, update, life });
  return service;
}

for (const [maxSurge, maxUnavailable] of [
  [1, 0],
  [0, 1],
  [3, 0],
] as const)
  test(`a rolling version of which one is ready and the rest fail is given up, and enough serve meanwhile: surge ${maxSurge}`, () => {
    const service = halfway({ maxSurge, maxUnavailable }, 4);
    const trace = service.pass(400);

    const least = Math.min(...trace.map(({ serving }) => serving));
    const most = Math.max(...trace.map(({ live }) => live));
    assert.equal(least, 3 - maxUnavailable);
    assert.ok(most <= 3 + maxSurge, String(most));
    const because = service.versions[1]?.givenUp ?? "";
    assert.match(because, /^3 replicas of version 2 failed before all .*; the latest: crashed$/);
    checkNoFlapping(trace);
    checkSettled(trace, 1, 3);
  });

test("failures of a rolling version before another one got ready do not count any more", () => {
  const service = halfway({ maxSurge: 1, maxUnavailable: 0 }, 6, 9, 12);
  service.pass(900);

  assert.equal(service.versions[1]?.givenUp, null);
  checkSettled(service.trace, 2, 3);
});

test("a rolling version that gets ready and fails soon after, again and again, is given up", () => {
  const policy = aPolicy(5);
  const service = new Simulator({ policy });
  service.pass(60);
  const life = () => ({ readyAfterMs: 10_000, failsAfterMs: 15_000 });
  service.update({ policy, life });
  service.pass(400);

  assert.notEqual(service.versions[1]?.givenUp, null);
  checkSettled(service.trace, 1, 5);
});

test("a rolling version that has taken over is not given up for what fails later", () => {
  const service = halfway({ maxSurge: 1, maxUnavailable: 0 }, 4, 5, 6);
  service.pass(200);
  checkSettled(service.trace, 2, 3);
  for (const number of [4, 5]) service.lose(number);
  service.pass(400);

  assert.equal(service.versions[1]?.givenUp, null);
});

test("a blue-green version that has taken over is not given up for what fails later", () => {
  const policy = aPolicy(2);
  const service = new Simulator({ policy });
  service.pass(60);
  const life = ({ number }: { number: number }) =>
    number === 3 ? { readyAfterMs: 5_000 } : { readyAfterMs: 5_000, failsAfterMs: 20_000 };
  service.update({ mode: "blue_green", policy, life });
  const trace = service.pass(1_000);

  assert.equal(service.versions[1]?.givenUp, null);
  assert.equal(trace.at(-1)?.goal, 2);
});

test("a version that was given up is not tried again, and the next one is", () => {
  const policy = aPolicy(1);
  const service = new Simulator({ policy });
  service.pass(60);
  service.update({ policy, life: crashes });
  service.pass(200);
  service.update({ policy });
  const trace = service.pass(200);

  assert.ok(trace.every(({ serving }) => serving >= 1));
  checkSettled(trace, 3, 1);
});

test("where max_unavailable has cost an old replica, giving up brings it back", () => {
  const update = { maxSurge: 0, maxUnavailable: 1 };
  const service = new Simulator({ policy: aPolicy(2), update });
  service.pass(60);
  service.update({ policy: aPolicy(2), update, life: crashes });
  const trace = service.pass(300);

  assert.equal(Math.min(...trace.map(({ serving }) => serving)), 1);
  assert.equal(trace.at(-1)?.serving, 2);
  checkSettled(trace, 1, 2);
});

test("a version that takes longer to fail than an old one takes to be healthy is given up, too", () => {
  const policy = aPolicy(1);
  const service = new Simulator({ policy });
  service.pass(60);
  service.update({ policy, life: () => ({ readyAfterMs: Infinity, failsAfterMs: 1_200_000 }) });
  service.pass(3 * 1_200 + 60);

  assert.notEqual(service.versions[1]?.givenUp, null);
});
