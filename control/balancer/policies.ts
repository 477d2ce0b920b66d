import type { BalancerPlan } from "../../contract/balancer-api.ts";

export type Policy = BalancerPlan["policy"];

/** What a policy knows of a replica. */
export interface Candidate {
  readonly id: number;
  /** Requests under way. */
  readonly open: number;
  readonly capacity: number;
}

/** How much each policy takes a replica to have to do; the least gets the next request. */
const loads: Record<Policy, (candidate: Candidate) => number> = {
  round_robin: () => 0,
  least_load: ({ open }) => open,
  instance_aware_least_load: ({ open, capacity }) => open / capacity,
};

/**
 * The candidate with the least load; of several, the next one after `lastId` in the circle of their
 * ids. So each has its turn, whoever comes and goes. Undefined when there is none.
 */
export function pick<One extends Candidate>(
  policy: Policy,
  candidates: readonly One[],
  lastId: number,
): One | undefined {
  const loadOf = loads[policy];
  let best: One | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const one of candidates) {
    const load = loadOf(one);
    if (load > least) continue;
    if (load === least && best !== undefined && !isSooner(one.id, best.id, lastId)) continue;
    best = one;
    least = load;
  }
  return best;
}

/** Whether `id` comes before `other` when one goes round from `lastId`. */
const isSooner = (id: number, other: number, lastId: number): boolean =>
  id > lastId === other > lastId ? id < other : id > lastId;
