import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobStatus } from "../../../contract/statuses.ts";
import { afterFailure, afterLoss } from "../../../control/jobs/recovery.ts";

const policy = { strategy: "FAILOVER", maxRestartsOnErrors: 2, recoverOnExitCodes: [33] } as const;
const failed = (exitCode: number | null, status: JobStatus = "FAILED") => ({
  ...{ status, exitCode },
  reason: `run exited with ${exitCode}`,
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
  const outcomes = [0, 1, 2].map((restarts) => afterFailure({ restarts }, failed(1), policy));

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
  const { to, change } = afterFailure({ restarts: 2 }, failed(33), policy);

  assert.deepEqual([to, change], ["RECOVERING", undefined]);
});

test("a failure without a policy is final, and a setup's is told apart", () => {
  const none = { strategy: "FAILOVER", maxRestartsOnErrors: 0, recoverOnExitCodes: [] } as const;
  const outcomeOf = (status: JobStatus) => afterFailure({ restarts: 0 }, failed(2, status), none);

  assert.deepEqual(outcomeOf("FAILED"), { to: "FAILED", reason: "run exited with 2" });
  assert.equal(outcomeOf("FAILED_SETUP").to, "FAILED_SETUP");
  assert.equal(outcomeOf("FAILED_DRIVER").to, "FAILED");
});
