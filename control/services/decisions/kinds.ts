import type { ReplicaPolicy } from "../../../contract/task/replica-policy.ts";
import type { Replica } from "../schema.ts";

/** How many of a service's replicas run on spot machines. Pure. */

export interface Kinds {
  readonly spot: number;
  readonly onDemand: number;
}

/** What a service says of spot machines. */
interface Mix {
  readonly policy: ReplicaPolicy;
  readonly usesSpot: boolean;
}

/** Of so many replicas that are wanted, how many are never on spot machines. */
export const neverSpotOf = ({ policy, usesSpot }: Mix, wanted: number): number =>
  usesSpot ? Math.min(policy.baseOndemandReplicas, wanted) : wanted;

/**
 * Of so many replicas that are wanted, how many of each kind. Without spot there is one kind. With it
 * some are never spot and, where that is asked for, others stand in for spot ones that are not ready.
 */
export function kindsOf(mix: Mix, wanted: number, live: readonly Replica[]): Kinds {
  const base = neverSpotOf(mix, wanted);
  const spot = wanted - base;
  const ready = live.filter(({ isSpot, status }) => isSpot && status === "READY").length;
  const standIns = mix.policy.dynamicOndemandFallback ? Math.max(0, spot - ready) : 0;
  return { spot, onDemand: Math.min(wanted, base + standIns) };
}
