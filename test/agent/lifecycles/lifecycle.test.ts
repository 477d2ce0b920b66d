import assert from "node:assert/strict";
import { test } from "node:test";
import {
  afterReboot,
  beginRow,
  describe,
  describeDone,
  nextEntry,
  passedOver,
  sharpen,
  withoutAsked,
} from "../../../agent/lifecycles/lifecycle.ts";
import type { LifecycleRow, Run } from "../../../agent/lifecycles/row.ts";
import { noShowAtMs } from "../../../agent/lifecycles/time.ts";
import { type HookEvent, hookEvents } from "../../../contract/hooks.ts";
import type { LifecycleOrder } from "../../../contract/lifecycle-shapes.ts";

const now = { at: 1_000_000, monotonicMs: 5_000 };
const later = { at: 1_002_000, monotonicMs: 7_000 };

const anOrder = (event: HookEvent, more: Partial<LifecycleOrder> = {}): LifecycleOrder => ({
  id: "one",
  event,
  cause: event === "preemption" ? "provider" : "user",
  because: `${event} by ann`,
  deadlineAt: null,
  skipHooks: false,
  ...more,
});

const aList = (...lists: HookEvent[][]) => lists.map((events) => ({ events, timeoutSeconds: 60 }));

/** A lifecycle whose entries before the last name ran, and of which that one runs. */
function running(event: HookEvent, entries: ReturnType<typeof aList>, at: number): LifecycleRow {
  const row = beginRow(anOrder(event), entries, now, "boot");
  return { ...row, runs: [aRun(at, event)] };
}

const aRun = (index: number, event: HookEvent, more: Partial<Run> = {}): Run => ({
  ...{ index, event, status: "RUNNING", exitCode: null, reason: null, timeoutSeconds: 60 },
  ...{ startedAt: now.at, endedAt: null, startedMs: now.monotonicMs, ending: null, logFrom: 0 },
  ...more,
});

/** The indices of what still runs, in order, each run at once. */
function order(row: LifecycleRow): string[] {
  const next = nextEntry(row);
  if (next === undefined) return [];
  const runs = [...row.runs, aRun(next.index, next.event, { status: "SUCCEEDED" })];
  return [`${next.index} ${next.event}`, ...order({ ...row, runs })];
}

test("stop on stop and down on down join: nothing changes", () => {
  for (const event of ["stop", "down"] as const) {
    const open = running(event, aList([event], [event]), 0);

    assert.deepEqual(sharpen(open, anOrder(event, { id: "two" }), later), open);
  }
});

test("a down turns a stop into a teardown: what runs goes on, stop-only entries are dropped", () => {
  const entries = aList(["stop"], ["stop"], ["stop", "down"], ["down"], ["preemption"]);
  const open = running("stop", entries, 0);
  const row = sharpen(open, anOrder("down", { because: "down by bob" }), later);

  assert.deepEqual(row.events, ["down"]);
  assert.equal(row.runs[0]?.ending, null);
  assert.deepEqual(order(row), ["2 down", "3 down"]);
  assert.deepEqual(passedOver({ ...row, runs: [0, 2, 3].map((at) => aRun(at, "down")) }), [
    { index: 1, event: "stop", reason: "it is not for what the stop became (down by bob)" },
  ]);
  assert.equal(describe(row), "the cluster is being torn down (down by bob)");
});

test("a stop during a teardown is refused, also one that met a preemption", () => {
  const down = running("down", aList(["down"]), 0);
  const both = sharpen(down, anOrder("preemption"), later);
  for (const open of [down, both])
    assert.throws(() => sharpen(open, anOrder("stop"), later), {
      name: "ConflictError",
      message: /a teardown is in progress/,
      details: { lifecycle: "one" },
    });
});

test("a notice during a stop: the deadline is its, entries that list preemption come first", () => {
  const entries = aList(["stop"], ["stop"], ["preemption"], ["stop", "preemption"]);
  const open = running("stop", entries, 0);
  const row = sharpen(open, anOrder("preemption", { deadlineAt: later.at + 30_000 }), later);

  assert.deepEqual(row.events, ["preemption", "stop"]);
  assert.deepEqual(order(row), ["2 preemption", "3 preemption", "1 stop"]);
  assert.deepEqual(row.deadline, {
    at: later.at + 30_000,
    monotonicMs: later.monotonicMs + 30_000,
    budgetMs: 30_000,
  });
  assert.equal(row.cause, "provider");
  assert.equal(row.runs[0]?.ending?.killMs, later.monotonicMs + 5_000);
  assert.equal(row.runs[0]?.ending?.status, "INTERRUPTED");
});

test("a hook that lists preemption too goes on when the notice comes", () => {
  const open = running("down", aList(["down", "preemption"], ["down", "preemption"]), 0);
  const row = sharpen(open, anOrder("preemption", { deadlineAt: later.at + 30_000 }), later);

  assert.deepEqual(row.events, ["preemption", "down"]);
  assert.equal(row.runs[0]?.ending, null);
  assert.deepEqual(order(row), ["1 preemption"]);
});

test("a second notice hastens and ends nothing; the later deadline does not count", () => {
  const entries = aList(["down"], ["preemption"]);
  const notice = anOrder("preemption", { deadlineAt: now.at + 60_000 });
  const open = { ...beginRow(notice, entries, now, "boot"), runs: [aRun(1, "preemption")] };
  const withDown = { ...sharpen(open, anOrder("down"), now), runs: [aRun(0, "down")] };
  const sooner = sharpen(withDown, { ...notice, deadlineAt: now.at + 20_000 }, later);
  const same = sharpen(sooner, { ...notice, deadlineAt: now.at + 90_000 }, later);

  assert.equal(sooner.deadline?.at, now.at + 20_000);
  assert.equal(sooner.runs[0]?.ending, null);
  assert.deepEqual(same, sooner);
});

test("a down or a stop during a preemption comes after it; a down takes the place of the stop", () => {
  const entries = aList(["stop"], ["down"], ["preemption"], ["preemption", "down"]);
  const open = running("preemption", entries, 2);
  const stopped = sharpen(open, anOrder("stop"), later);
  const down = sharpen(stopped, anOrder("down"), later);

  assert.deepEqual(stopped.events, ["preemption", "stop"]);
  assert.deepEqual(order(stopped), ["3 preemption", "0 stop"]);
  assert.deepEqual(down.events, ["preemption", "down"]);
  assert.deepEqual(order(down), ["3 preemption", "1 down"]);
  assert.equal(down.cause, "provider");
  assert.equal(describeDone(down), "the node was taken away (preemption by ann)");
});

test("skipping hooks ends the one that runs, and the rest says who asked", () => {
  const open = running("stop", aList(["stop"], ["stop"]), 0);
  const skip = anOrder("down", { skipHooks: true, because: "down --purge by root" });
  const row = sharpen(open, skip, later);

  assert.deepEqual(order(row), []);
  assert.deepEqual(row.runs[0]?.ending, {
    status: "INTERRUPTED",
    reason: "it was ended (down --purge by root)",
    killMs: later.monotonicMs + 10_000,
  });
  assert.deepEqual(passedOver(row), [
    { index: 1, event: "stop", reason: "hooks are skipped (down --purge by root)" },
  ]);
});

test("who asks for more is who wants it: the idle timer gives way to a user, a user to the provider", () => {
  const idle = beginRow(anOrder("stop", { cause: "idle", because: "idle" }), [], now, "boot");
  const user = sharpen(idle, anOrder("stop"), later);
  const taken = sharpen(user, anOrder("preemption"), later);

  assert.deepEqual([user.cause, user.because], ["user", "stop by ann"]);
  assert.deepEqual([taken.cause, taken.because], ["provider", "preemption by ann"]);
  assert.deepEqual(sharpen(taken, anOrder("stop"), later), taken);
});

test("a lifecycle that was past its hooks goes back to those that it has now", () => {
  const done = { ...running("stop", aList(["stop"], ["down"]), 0), status: "READY" } as const;
  const ran = {
    ...done,
    runs: [aRun(0, "stop", { status: "SUCCEEDED" })],
    areLogsConfirmed: true,
  };
  const down = sharpen(ran, anOrder("down"), later);
  const taken = sharpen(ran, anOrder("preemption"), later);

  assert.deepEqual([down.status, down.areLogsConfirmed], ["HOOKS", false], "more is written");
  assert.deepEqual([taken.status, taken.areLogsConfirmed], ["READY", true]);
});

test("one that is ended already for taking too long has no longer than the new deadline leaves", () => {
  const ending = {
    status: "TIMED_OUT",
    reason: "late",
    killMs: later.monotonicMs + 9_000,
  } as const;
  const open = running("stop", aList(["stop", "preemption"]), 0);
  const cut = { ...open, runs: [aRun(0, "stop", { ending })] };
  const row = sharpen(cut, anOrder("preemption", { deadlineAt: later.at + 4_000 }), later);

  assert.deepEqual(row.runs[0]?.ending, { ...ending, killMs: later.monotonicMs + 2_000 });
});

test("a reboot ends a preemption, not a stop: that goes on without what ran", () => {
  const entries = aList(["stop", "preemption"], ["stop"]);
  const stop = running("stop", entries, 0);
  const both = sharpen(stop, anOrder("preemption", { deadlineAt: later.at + 9_000 }), later);
  const notice = running("preemption", entries, 0);
  const ready = { ...stop, status: "READY" } as const;
  const boot = { at: later.at, monotonicMs: 100 };

  assert.equal(afterReboot(stop, "boot", boot), stop);
  assert.equal(afterReboot(stop, "other", boot).status, "HOOKS");
  assert.deepEqual(order(afterReboot(stop, "other", boot)), ["1 stop"]);
  assert.deepEqual(afterReboot(both, "other", boot).events, ["stop"]);
  assert.equal(afterReboot(both, "other", boot).deadline, null);
  assert.equal(afterReboot(notice, "other", boot).status, "CANCELLED");
  assert.equal(afterReboot(ready, "other", boot).status, "DONE");
  assert.equal(
    afterReboot(notice, "other", boot).runs[0]?.ending?.reason,
    "the machine was rebooted",
  );
});

test("a stop that met a notice leaves the notice when it is taken back, as often as it is", () => {
  const entries = aList(["stop"], ["preemption"]);
  const notice = anOrder("preemption", { because: "a notice", deadlineAt: later.at + 30_000 });
  const met = sharpen(beginRow(anOrder("stop"), entries, now, "boot"), notice, later);
  const left = withoutAsked(met) ?? assert.fail();

  assert.deepEqual([left.events, left.deadline], [["preemption"], met.deadline]);
  assert.deepEqual(order(left), ["1 preemption"]);
  assert.equal(noShowAtMs(left), later.monotonicMs + 90_000);
  assert.equal(describe(left), "the node is being taken away (a notice)");
  assert.deepEqual(passedOver({ ...left, runs: [aRun(1, "preemption")] }), [
    { index: 0, event: "stop", reason: "it was taken back" },
  ]);
  assert.deepEqual(withoutAsked(left), left);
  assert.deepEqual(order(sharpen(left, anOrder("stop"), later)), ["1 preemption", "0 stop"]);
});

test("taken back, nothing is left of a stop, a teardown, or a notice that met nothing", () => {
  for (const event of hookEvents)
    assert.equal(withoutAsked(beginRow(anOrder(event), [], now, "boot")), undefined);
});
