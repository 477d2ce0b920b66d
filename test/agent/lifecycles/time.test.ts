import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deadlineOf,
  earlier,
  endOf,
  graceOf,
  jobsEndMs,
  killMsOf,
  noShowAtMs,
  timeOf,
} from "../../../agent/lifecycles/time.ts";

const now = { at: 1_000_000, monotonicMs: 50_000 };
const notice = (seconds: number) => ({ deadline: deadlineOf(now.at + seconds * 1000, now) });
const never = { deadline: null };
const entry = (timeoutSeconds: number) => ({ timeoutSeconds, events: [] });

test("a hook has its own time, or what is left before the reserve of five seconds", () => {
  const rows: [
    notice: number | null,
    timeoutSeconds: number,
    afterMs: number,
    ms: number | undefined,
  ][] = [
    [null, 3600, 0, 3_600_000],
    [30, 3600, 0, 25_000],
    [120, 3600, 0, 115_000],
    [30, 10, 0, 10_000],
    [30, 3600, 20_000, 5_000],
    [30, 3600, 24_600, undefined],
    [30, 3600, 40_000, undefined],
    // A quarter is kept of a notice that is shorter than four reserves.
    [8, 3600, 0, 6_000],
    [0, 3600, 0, undefined],
  ];
  for (const [seconds, timeout, afterMs, ms] of rows) {
    const row = seconds === null ? never : notice(seconds);
    assert.equal(timeOf(row, entry(timeout), now.monotonicMs + afterMs), ms, `${seconds}`);
  }
});

test("a running hook is cut at its own time or the deadline, whichever comes first", () => {
  const run = { index: 0, startedMs: now.monotonicMs + 2_000 };
  const at = (seconds: number | null, timeout: number) =>
    endOf({ ...(seconds === null ? never : notice(seconds)), entries: [entry(timeout)] }, run);

  assert.deepEqual(at(null, 10), { atMs: 62_000, reason: "it took longer than its 10 s" });
  assert.deepEqual(at(30, 10), { atMs: 62_000, reason: "it took longer than its 10 s" });
  assert.deepEqual(at(30, 3600), {
    atMs: 75_000,
    reason: "the time until the node goes was over",
  });
});

test("after TERM comes KILL: ten seconds, or half of what is left", () => {
  assert.equal(killMsOf(never, 1_000), 11_000);
  assert.equal(killMsOf(notice(120), now.monotonicMs), now.monotonicMs + 10_000);
  assert.equal(killMsOf(notice(12), now.monotonicMs), now.monotonicMs + 6_000);
  assert.equal(killMsOf(notice(12), now.monotonicMs + 20_000), now.monotonicMs + 20_000);
});

test("jobs get TERM while 40 % of the budget is left, twenty seconds at most, in a preemption alone", () => {
  const at = (seconds: number, events: ("preemption" | "stop")[] = ["preemption"]) =>
    jobsEndMs({ events, ...notice(seconds) });

  assert.equal(at(30), now.monotonicMs + 18_000);
  assert.equal(at(120), now.monotonicMs + 100_000);
  assert.equal(at(30, ["preemption", "stop"]), now.monotonicMs + 18_000);
  assert.equal(at(30, ["stop"]), undefined);
  assert.equal(jobsEndMs({ events: ["preemption"], deadline: null }), undefined);
});

test("jobs have ten seconds, or what is left before the reserve", () => {
  assert.equal(graceOf(never, 0), 10_000);
  assert.equal(graceOf(notice(30), now.monotonicMs + 18_000), 7_000);
  assert.equal(graceOf(notice(30), now.monotonicMs + 29_000), 0);
});

test("a notice was a false one a minute after its deadline, unless the cluster is to stop anyway", () => {
  assert.equal(noShowAtMs({ events: ["preemption"], ...notice(30) }), now.monotonicMs + 90_000);
  assert.equal(noShowAtMs({ events: ["preemption", "stop"], ...notice(30) }), undefined);
  assert.equal(noShowAtMs({ events: ["stop"], ...never }), undefined);
});

test("the earlier deadline counts", () => {
  const { deadline: soon } = notice(10);
  const { deadline: late } = notice(20);

  assert.equal(earlier(soon, late), soon);
  assert.equal(earlier(late, soon), soon);
  assert.equal(earlier(null, soon), soon);
  assert.equal(earlier(soon, null), soon);
  assert.equal(earlier(null, null), null);
});
