import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../../agent/jobs/outcome.ts";
import type { PartStatus } from "../../../contract/statuses.ts";

type Job = Parameters<typeof decide>[0];
type Part = Parameters<typeof decide>[1][number];

const aJob = (more: Partial<Job> = {}): Job => ({
  status: "RUNNING",
  verdict: null,
  reason: null,
  exitCode: null,
  nodes: 2,
  ...more,
});
const aPart = (rank: number, status: PartStatus, more: Partial<Part> = {}): Part => ({
  rank,
  status,
  wanted: "run",
  exitCode: null,
  reason: null,
  ...more,
});
const setUp = { wanted: "setup" } as const;

test("no rank runs before every rank is set up", () => {
  const job = aJob({ status: "SETTING_UP" });

  assert.deepEqual(decide(job, [aPart(0, "READY", setUp), aPart(1, "SETTING_UP", setUp)]), {
    do: "wait",
  });
  assert.deepEqual(decide(job, [aPart(0, "READY", setUp), aPart(1, "READY", setUp)]), {
    do: "run",
  });
  assert.deepEqual(decide(aJob(), [aPart(0, "READY"), aPart(1, "RUNNING")]), { do: "wait" });
});

test("a job succeeds once every rank returned 0", () => {
  const done = aPart(0, "ENDED", { exitCode: 0 });

  assert.deepEqual(decide(aJob(), [done, aPart(1, "RUNNING")]), { do: "wait" });
  assert.deepEqual(decide(aJob(), [done, { ...done, rank: 1 }]), {
    do: "finish",
    status: "SUCCEEDED",
    reason: null,
    exitCode: 0,
  });
});

const failures = [
  ["RUNNING", 3, "FAILED", "rank 1: run exited with 3"],
  ["SETTING_UP", 3, "FAILED_SETUP", "rank 1: setup exited with 3"],
  [
    "RUNNING",
    137,
    "FAILED",
    "rank 1: run exited with 137 (killed by SIGKILL, perhaps out of memory)",
  ],
  ["RUNNING", 143, "FAILED", "rank 1: run exited with 143 (ended by SIGTERM)"],
  ["RUNNING", null, "FAILED_DRIVER", "rank 1: it ended and left no exit code"],
] as const;

for (const [status, exitCode, verdict, reason] of failures)
  test(`a rank that ends with ${exitCode} while ${status} makes the job ${verdict}`, () => {
    const parts = [aPart(0, status), aPart(1, "ENDED", { exitCode })];

    assert.deepEqual(decide(aJob({ status }), parts), {
      do: "judge",
      status: verdict,
      reason,
      exitCode,
    });
  });

test("the first cause wins, and a job ends only once nothing of it is left", () => {
  const job = aJob({ verdict: "CANCELLED", reason: "cancelled" });
  const killed = aPart(1, "ENDED", { exitCode: 137 });

  assert.deepEqual(decide(job, [aPart(0, "RUNNING"), killed]), { do: "wait" });
  assert.deepEqual(decide(job, [{ ...killed, rank: 0 }, killed]), {
    do: "finish",
    status: "CANCELLED",
    reason: "cancelled",
    exitCode: null,
  });
});

test("a job says which processes its ranks had to leave, however it ends", () => {
  const left = "process 7 (sleep) belongs to root and was left";
  const cancelled = aJob({ verdict: "CANCELLED", reason: "cancelled" });
  const ended = (exitCode: number) => [
    aPart(0, "ENDED", { exitCode, reason: left }),
    aPart(1, "ENDED", { exitCode }),
  ];

  assert.deepEqual(decide(cancelled, ended(137)), {
    do: "finish",
    status: "CANCELLED",
    reason: `cancelled; rank 0: ${left}`,
    exitCode: null,
  });
  assert.deepEqual(decide(aJob({ nodes: 1 }), ended(0).slice(0, 1)), {
    do: "finish",
    status: "SUCCEEDED",
    reason: left,
    exitCode: 0,
  });
});
