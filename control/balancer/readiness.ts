import type { ProbePlan, SeenReplica } from "../../contract/balancer-api.ts";

/** What is known of a replica from its answers. */
export interface Seen
  extends Pick<SeenReplica, "readiness" | "since" | "failingSince" | "problem"> {
  /** Good answers in a row, or bad ones; one of both is 0. */
  readonly goods: number;
  readonly bads: number;
}

type Thresholds = Pick<ProbePlan, "successThreshold" | "failureThreshold">;

/** What is known of a replica that was not asked yet. */
export const nothingSeen = (now: number): Seen => ({
  readiness: "unknown",
  since: now,
  failingSince: null,
  problem: null,
  goods: 0,
  bads: 0,
});

/** What is known after an answer; `problem` is null when it was good. Pure. */
export function afterAnswer(
  seen: Seen,
  problem: string | null,
  { successThreshold, failureThreshold }: Thresholds,
  now: number,
): Seen {
  if (problem !== null) return afterBad(seen, problem, failureThreshold, now);
  const goods = seen.goods + 1;
  const good = { ...seen, failingSince: null, problem, goods, bads: 0 };
  return goods >= successThreshold ? become("ready", good, now) : good;
}

/** What is known once a replica refused a connection: nothing listens there, so it is not ready. Pure. */
export const afterRefusal = (seen: Seen, now: number): Seen => afterBad(seen, "refused", 1, now);

function afterBad(seen: Seen, problem: string, threshold: number, now: number): Seen {
  const bads = seen.bads + 1;
  const bad = { ...seen, failingSince: seen.failingSince ?? now, problem, goods: 0, bads };
  // One that was never ready may still be starting.
  const falls = seen.readiness === "ready" && bads >= threshold;
  return falls ? become("not_ready", bad, now) : bad;
}

const become = (readiness: Seen["readiness"], seen: Seen, now: number): Seen =>
  seen.readiness === readiness ? seen : { ...seen, readiness, since: now };

/** Whether there is something to tell of: all but how often the same answer came. Pure. */
export const isNews = (before: Seen, after: Seen): boolean =>
  before.readiness !== after.readiness ||
  before.problem !== after.problem ||
  before.failingSince !== after.failingSince;
