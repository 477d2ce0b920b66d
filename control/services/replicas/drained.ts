import type { BalancerPlan, BalancerReport } from "../../../contract/balancer-api.ts";
import { drainMs } from "../schema.ts";

/**
 * Whether nothing is under way at a replica and nothing new comes there, by what its balancer was told
 * and has told since. A report on a plan before that says nothing: the next request may go there.
 */
export function isDrained(
  number: number,
  told: BalancerPlan | undefined,
  seen: BalancerReport | undefined,
): boolean {
  if (told === undefined || seen === undefined || (seen.revision ?? -1) < told.revision)
    return false;
  const planned = told.replicas.find(({ id }) => id === number);
  if (planned !== undefined && planned.role !== "draining") return false;
  return (seen.replicas.find(({ id }) => id === number)?.open ?? 0) === 0;
}

/**
 * Whether what is under way at a replica has had the time that was left to it. That begins anew at `backAt`,
 * when control came back or a clock was set: how much of it was over by then is not known.
 */
export function hasHadItsTime(drainUntil: number, now: number, backAt = 0): boolean {
  const beganAt = drainUntil - drainMs;
  const since = beganAt > now ? backAt : Math.max(beganAt, backAt);
  return now - since >= drainMs;
}
