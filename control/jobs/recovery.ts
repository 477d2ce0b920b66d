import type { Job } from "../../contract/agent-shapes.ts";
import type { JobRecovery } from "../../contract/task/job-recovery.ts";
import type { JobTask, Outcome } from "./schema.ts";

/** Whether a task is tried again. Pure. */

export type Recovery = JobRecovery;

/** Of a task that says nothing about it. */
export const usualRecovery: Recovery = {
  strategy: "EAGER_NEXT_REGION",
  maxRestartsOnErrors: 0,
  recoverOnExitCodes: [],
};

/** What becomes of a task that lost its cluster, however often that happens. */
export const afterLoss = (why: string, { strategy }: Pick<Recovery, "strategy">): Outcome =>
  strategy === "none"
    ? { to: "FAILED", reason: `${why}; it is not recovered, as its task says job_recovery: none` }
    : { to: "RECOVERING", reason: why };

type Ended = Pick<Job, "status" | "reason" | "exitCode">;

/** What becomes of a task whose own setup or run failed. */
export function afterFailure(
  { restarts }: Pick<JobTask, "restarts">,
  { status, reason, exitCode }: Ended,
  { maxRestartsOnErrors: most, recoverOnExitCodes: codes }: Recovery,
): Outcome {
  const how = reason ?? status;
  if (exitCode !== null && codes.includes(exitCode))
    return {
      to: "RECOVERING",
      reason: `${how}; recovers, as recover_on_exit_codes has ${exitCode}`,
    };
  const next = restarts + 1;
  if (next <= most)
    return {
      to: "RECOVERING",
      reason: `${how}; restart ${next} of ${most}`,
      change: { restarts: next },
    };
  const after = most === 0 ? "" : `; no restart is left of ${most}`;
  return { to: status === "FAILED_SETUP" ? "FAILED_SETUP" : "FAILED", reason: `${how}${after}` };
}
