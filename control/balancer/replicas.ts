import { fail } from "../../common/errors.ts";
import type { BalancerPlan, PlannedReplica, ProbePlan } from "../../contract/balancer-api.ts";
import type { DeadEnd } from "../../sidecar/forward/route.ts";
import { Replica, type Watch } from "./replica.ts";

/** What holds until control says otherwise: whoever comes first waits for the plan. */
const firstPlan: BalancerPlan = {
  revision: -1,
  policy: "least_load",
  probes: {},
  replicas: [],
  tls: null,
  hold: { requests: 1_000, ms: 10_000 },
};

/** The replicas of the plan that is followed, and those of them that may be chosen. */
export class Replicas {
  plan = firstPlan;
  /** In the order of the plan. */
  ready: readonly Replica[] = [];
  /** Who was chosen last. */
  lastId = 0;
  #all: ReadonlyMap<number, Replica> = new Map();
  readonly #watch: Watch;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  get revision(): number | null {
    return this.plan === firstPlan ? null : this.plan.revision;
  }

  [Symbol.iterator](): Iterator<Replica> {
    return this.#all.values();
  }

  /** Follows a plan; answers whether it is newer than the one before. Throws `ValueError`. */
  follow(plan: BalancerPlan): boolean {
    if (plan.revision <= this.plan.revision) return false;
    const all = plan.replicas.map((planned) => [planned, probeOf(plan, planned)] as const);
    const before = this.#all;
    this.plan = plan;
    this.#all = new Map(all.map(([planned, probe]) => [planned.id, this.#take(planned, probe)]));
    for (const replica of before.values()) if (!this.#all.has(replica.id)) replica.leave();
    this.sort();
    return true;
  }

  #take(planned: PlannedReplica, probe: ProbePlan): Replica {
    const known = this.#all.get(planned.id);
    if (known === undefined) return new Replica(planned, probe, this.#watch);
    known.follow(planned, probe);
    return known;
  }

  /** Looks anew who may be chosen. */
  sort(): void {
    this.ready = [...this.#all.values()].filter(({ isChosen }) => isChosen);
  }

  /** No answer began: where connections are refused nothing is, else it may be for once. */
  lost({ to, why, wasConnected }: DeadEnd): void {
    for (const replica of this.ready) {
      if (replica.to !== to) continue;
      if (why === "upstreamRefused" && !wasConnected) replica.refused();
      else replica.doubt();
    }
  }

  stop(): void {
    for (const replica of this.#all.values()) replica.stop();
  }
}

function probeOf({ probes }: BalancerPlan, { id, version }: PlannedReplica): ProbePlan {
  const known = Object.hasOwn(probes, version) ? probes[version] : undefined;
  return (
    known ?? fail("ValueError", `replica ${id} has version ${version}, and no probe is for it`)
  );
}
