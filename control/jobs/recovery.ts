import type { Job } from "../../contract/agent-shapes.ts";
import { notRecovered } from "../../contract/job-loss.ts";
import type { JobRecovery } from "../../contract/task/job-recovery.ts";
import type { JobTask, Outcome } from "./schema.ts";

/** Whether a task is tried again. Pure. */

export type Recovery = JobRecovery;

/** Of a task that says nothing about it. */
export const usualRecovery: Recovery = {
  strategy: "EAGER_NEXT_REGION",
  maxRestartsOnErrors: 0,
  recoverOnExitCodes: [],
  leaseSeconds: null,
};

/** What becomes of a task that lost its cluster, however often that happens. */
export const afterLoss = (why: string, { strategy }: Pick<Recovery, "strategy">): Outcome =>
  strategy === "none"
    ? { to: "FAILED", reason: `${why}; ${notRecovered}` }
    : { to: "RECOVERING", reason: why };

/** What failed only after that had not failed from the start. */
const longMs = 600_000;
const firstPauseMs = 10_000;

/** How long the next attempt waits after failures in a row: the first does not, each further one twice as long. */
export const pauseAfter = (failures: number): number =>
  failures < 2 ? 0 : Math.min(firstPauseMs * 2 ** (failures - 2), longMs);

type Ended = Pick<Job, "status" | "reason" | "exitCode">;
type Failed = Pick<JobTask, "restarts" | "failures" | "runAt">;

/** What becomes of a task whose own setup or run failed. */
export function afterFailure(
  { restarts, failures, runAt }: Failed,
  { status, reason, exitCode }: Ended,
  { maxRestartsOnErrors: most, recoverOnExitCodes: codes }: Recovery,
  now: number,
): Outcome {
  const how = reason ?? status;
  const ranLong = now - (runAt ?? now) >= longMs;
  const change = { failures: ranLong ? 1 : failures + 1 };
  if (exitCode !== null && codes.includes(exitCode))
    return {
      to: "RECOVERING",
      reason: `${how}; recovers, as recover_on_exit_codes has ${exitCode}`,
      change,
    };
  const next = restarts + 1;
  if (next <= most)
    return {
      to: "RECOVERING",
      reason: `${how}; restart ${next} of ${most}`,
      change: { ...change, restarts: next },
    };
  const after = most === 0 ? "" : `; no restart is left of ${most}`;
  return { to: status === "FAILED_SETUP" ? "FAILED_SETUP" : "FAILED", reason: `${how}${after}` };
}
