import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobStatus } from "../../../contract/statuses.ts";
import { afterFailure, afterLoss, pauseAfter } from "../../../control/jobs/recovery.ts";

const policy = {
  strategy: "FAILOVER",
  maxRestartsOnErrors: 2,
  recoverOnExitCodes: [33],
  leaseSeconds: null,
} as const;
const failed = (exitCode: number | null, status: JobStatus = "FAILED") => ({
  ...{ status, exitCode },
  reason: `run exited with ${exitCode}`,
});

const failing = (more: { restarts?: number; failures?: number }) => ({
  ...{ restarts: 0, failures: 0, runAt: 0 },
  ...more,
});

test("a loss is always recovered, unless the task says never", () => {
  const why = "its machine is gone";

  assert.deepEqual(afterLoss(why, policy), { to: "RECOVERING", reason: why });
  assert.deepEqual(afterLoss(why, { strategy: "none" }), {
    to: "FAILED",
    reason: "its machine is gone; it is not recovered, as its task says job_recovery: none",
  });
});

test("a failure is tried again as often as the task says, and counted", () => {
  const outcomes = [0, 1, 2].map((restarts) =>
    afterFailure(failing({ restarts }), failed(1), policy, 5),
  );

  assert.deepEqual(
    outcomes.map(({ to, change }) => [to, change?.restarts]),
    [
      ["RECOVERING", 1],
      ["RECOVERING", 2],
      ["FAILED", undefined],
    ],
  );
  assert.equal(outcomes[0]?.reason, "run exited with 1; restart 1 of 2");
  assert.equal(outcomes[2]?.reason, "run exited with 1; no restart is left of 2");
});

test("an exit code that the task names is tried again without being counted", () => {
  const { to, change } = afterFailure(failing({ restarts: 2 }), failed(33), policy, 5);

  assert.deepEqual([to, change], ["RECOVERING", { failures: 1 }]);
});

test("a failure without a policy is final, and a setup's is told apart", () => {
  const none = {
    strategy: "FAILOVER",
    maxRestartsOnErrors: 0,
    recoverOnExitCodes: [],
    leaseSeconds: null,
  } as const;
  const outcomeOf = (status: JobStatus) => afterFailure(failing({}), failed(2, status), none, 5);

  assert.deepEqual(outcomeOf("FAILED"), { to: "FAILED", reason: "run exited with 2" });
  assert.equal(outcomeOf("FAILED_SETUP").to, "FAILED_SETUP");
  assert.equal(outcomeOf("FAILED_DRIVER").to, "FAILED");
});

test("failures in a row make longer and longer pauses, which a long run ends", () => {
  const failuresAt = (now: number) =>
    afterFailure(failing({ failures: 4 }), failed(33), policy, now).change?.failures;

  assert.deepEqual([1, 2, 3, 4, 20].map(pauseAfter), [0, 10_000, 20_000, 40_000, 600_000]);
  assert.deepEqual([failuresAt(599_999), failuresAt(600_000)], [5, 1]);
});
