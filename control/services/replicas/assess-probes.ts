import type { BalancerReport } from "../../../contract/balancer-api.ts";
import type { ReplicaStatus } from "../../../contract/statuses.ts";
import type { Probe } from "../../../contract/task/probe.ts";
import type { Replica } from "../schema.ts";

/** What the answers of a replica to its probe make of it. Pure. */

type Patience = Pick<Probe, "initialDelaySeconds" | "failureWindowSeconds">;
type Seen = BalancerReport["replicas"][number];

export interface Verdict {
  readonly to: ReplicaStatus;
  readonly reason: string;
}

/**
 * The status that a replica should have instead by what was seen of it then; undefined while it has the
 * right one. Only bad answers speak against it: who was not asked, or not heard, has not failed. Until
 * `backAt` control was away, and with it the way to those that are reached through it; what seems to be
 * still to come is from before its clock was set back.
 */
export function judge(
  { status, statusChangedAt, runAt }: Pick<Replica, "status" | "statusChangedAt" | "runAt">,
  { readiness, failingSince, problem }: Seen,
  { initialDelaySeconds, failureWindowSeconds }: Patience,
  seenAt: number,
  backAt = 0,
): Verdict | undefined {
  const secondsSince = (at: number) =>
    (seenAt - (at > seenAt ? backAt : Math.max(at, backAt))) / 1000;
  if (status === "STARTING") {
    if (readiness === "ready") return { to: "READY", reason: "it answers its probe" };
    if (problem === null || runAt === null) return undefined;
    if (secondsSince(runAt) < initialDelaySeconds) return undefined;
    const reason = `it was not ready ${initialDelaySeconds} s after its run began: ${problem}`;
    return { to: "FAILED_INITIAL_DELAY", reason };
  }
  if (readiness === "ready")
    return status === "NOT_READY"
      ? { to: "READY", reason: "it passes its probe again" }
      : undefined;
  const hasFailedLong = (from: number) =>
    failingSince !== null &&
    Math.min(secondsSince(failingSince), secondsSince(from)) >= failureWindowSeconds;
  // A balancer that was started anew does not know that it was ready.
  if (status === "READY" && (readiness === "not_ready" || hasFailedLong(0))) {
    const why = problem ?? "too few successful probes since a failed one";
    return { to: "NOT_READY", reason: `it fails its probe: ${why}` };
  }
  // Before that control may have been away, and with it the way there.
  if (status !== "NOT_READY" || !hasFailedLong(statusChangedAt)) return undefined;
  const reason = `it failed its probe for ${failureWindowSeconds} s: ${problem}`;
  return { to: "FAILED_PROBING", reason };
}
