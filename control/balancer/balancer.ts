import type { BalancerPlan, BalancerReport } from "../../contract/balancer-api.ts";
import type { Choose } from "../../sidecar/forward/route.ts";
import { openArrivals } from "./arrivals.ts";
import { openHold } from "./hold.ts";
import { Replicas } from "./replicas.ts";
import { reportsOf } from "./reports.ts";
import { type Choice, chooseBy, nextRoute, refusalToHold } from "./routing.ts";

/** What follows plans, routes by them, and tells what it sees. */
export interface Balancer {
  /** Of the plan that it follows; null before the first. */
  readonly revision: number | null;
  readonly choose: Choose;
  /** Follows a plan unless it is overtaken; answers the one that is followed. Throws `ValueError`. */
  follow(plan: BalancerPlan): BalancerPlan;
  report(): BalancerReport;
  /** A report now, then whenever there is something to tell, until the signal aborts. */
  reports(signal: AbortSignal): AsyncIterable<BalancerReport>;
  /** Asks no replica any more. */
  stop(): void;
}

/** Opens a balancer that waits for its first plan; arrivals go by a clock that nobody sets. */
export function openBalancer(
  now: () => number = Date.now,
  steady: () => number = () => performance.now(),
): Balancer {
  const listeners = new Set<() => void>();
  const hold = openHold<Choice>("noUpstream");
  const arrivals = openArrivals(steady());
  const tally = { open: 0 };
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const replicas = new Replicas({ now, changed: sorted });
  const routing = { replicas, arrivals, hold, tally, now: steady, changed };

  function sorted(): void {
    replicas.sort();
    hold.release(() => nextRoute(routing) ?? refusalToHold(routing));
    changed();
  }

  const report = (): BalancerReport => ({
    revision: replicas.revision,
    replicas: [...replicas].map((replica) => replica.report()),
    arrivals: arrivals.list(steady()),
    held: hold.count,
    open: tally.open + hold.count,
    at: now(),
  });

  return {
    get revision() {
      return replicas.revision;
    },
    choose: chooseBy(routing),
    follow(plan) {
      if (replicas.follow(plan)) sorted();
      return replicas.plan;
    },
    report,
    reports: (signal) => reportsOf({ report, listeners, arrivals }, signal),
    stop: () => replicas.stop(),
  };
}
