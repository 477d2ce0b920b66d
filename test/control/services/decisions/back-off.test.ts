import assert from "node:assert/strict";
import { test } from "node:test";
import { failedInARow, nextTryAt } from "../../../../control/services/decisions/back-off.ts";
import { aReplica } from "../rows.ts";
import { Simulator } from "./simulator.ts";
import { aFailure, aPolicy } from "./versions.ts";

const now = 100_000_000;
const minutes = (count: number): number => count * 60_000;
const numbers = (...replicas: Parameters<typeof failedInARow>[0][number][]) =>
  failedInARow(replicas, 1, now).map(({ number }) => number);

test("failures of a version count, the latest first; losses and other versions do not", () => {
  const lost = aReplica({ number: 3, status: "PREEMPTED", endedAt: now });
  const other = aFailure(4, now, { version: 2 });

  assert.deepEqual(numbers(aFailure(1, now - 2), aFailure(2, now - 1), lost, other), [2, 1]);
  for (const status of ["FAILED_PROVISION", "FAILED_PROBING", "FAILED_INITIAL_DELAY"] as const)
    assert.deepEqual(numbers(aFailure(1, now, { status })), [1]);
});

test("ten minutes of health make up for what failed before them, and for nothing after", () => {
  const before = aFailure(1, now - minutes(11));
  const since = aFailure(2, now - minutes(1));
  const readyFor = (count: number, version = 1) =>
    aReplica({ number: 3, version, status: "READY", statusChangedAt: now - minutes(count) });

  assert.deepEqual(numbers(before, since, readyFor(9)), [2, 1]);
  assert.deepEqual(numbers(before, since, readyFor(60)), [2]);
  assert.deepEqual(numbers(before, since, readyFor(60, 2)), [2, 1]);
  const ended = { readyAt: now - minutes(30), endedAt: now - minutes(2) };
  assert.deepEqual(numbers(aFailure(1, now - minutes(20)), aFailure(2, 0, ended)), [2]);
});

test("the first is replaced at once, each further one twice as late, up to ten minutes", () => {
  const waits = Array.from({ length: 12 }, (_, failures) => {
    const failed = Array.from({ length: failures }, (_, index) => aFailure(index, now));
    return Math.max(0, nextTryAt(failed, now) - now) / 1_000;
  });

  assert.deepEqual(waits, [0, 0, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600]);
});

test("what failed before the clock was set back by hours holds up nothing", () => {
  const before = [aFailure(2, now + minutes(90)), aFailure(1, now + minutes(80))];

  assert.ok(nextTryAt(before, now) <= now);
  assert.equal(nextTryAt([...before, aFailure(3, now)], now), now + 20_000);
});

test("a service that crashes on start is tried ever more slowly, and then for ever", () => {
  const life = () => ({ readyAfterMs: Infinity, failsAfterMs: 1_000 });
  const service = new Simulator({ policy: aPolicy(1), life });
  const trace = service.pass(7_200);
  const starts = trace.filter(({ decision }) => decision.start.length > 0).map((one) => one.atMs);

  const pauses = starts
    .slice(1)
    .map((at, index) => Math.round((at - (starts[index] ?? 0)) / 1_000));
  assert.deepEqual(pauses.slice(0, 9), [1, 11, 21, 41, 81, 161, 321, 601, 601]);
  assert.equal(trace.at(-1)?.decision.status, "FAILED");
  assert.match(trace.at(-1)?.decision.reason ?? "", /crashed$/);
  assert.ok(pauses.slice(9).every((pause) => pause === 601));
});

test("one that crashes beside a healthy one is not replaced as fast as it crashes", () => {
  const life = ({ number }: { number: number }) =>
    number === 1 ? { readyAfterMs: 1_000 } : { readyAfterMs: Infinity, failsAfterMs: 1_000 };
  const service = new Simulator({ policy: aPolicy(2), life });
  service.pass(1_000);
  const trace = service.pass(3_600);

  const starts = trace.flatMap(({ decision }) => decision.start).length;
  assert.ok(starts > 6 && starts < 60, String(starts));
  assert.ok(trace.every(({ serving, decision }) => serving === 1 && decision.status === "READY"));
});
