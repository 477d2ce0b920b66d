import type { BalancerPlan } from "../../contract/balancer-api.ts";

/** Requests that wait for a replica, in the order in which they came. */
export interface Hold<Way> {
  /** How many wait. */
  readonly count: number;
  /** Takes one more, which is told its way; undefined when no more may wait. Its answer forgets it. */
  add(limits: BalancerPlan["hold"], tell: (way: Way) => void): (() => void) | undefined;
  /** Tells each, in order, the way that `find` finds; those for which it finds none go on waiting. */
  release(find: () => Way | undefined): void;
}

/** Nobody waits yet; `late` is told to whoever waited for too long. */
export function openHold<Way>(late: Way): Hold<Way> {
  const waiting = new Set<(way: Way) => void>();

  function add(limits: BalancerPlan["hold"], tell: (way: Way) => void) {
    if (waiting.size >= limits.requests) return undefined;
    const go = (way: Way): void => {
      forget();
      tell(way);
    };
    const timer = setTimeout(go, limits.ms, late);
    const forget = (): void => {
      clearTimeout(timer);
      waiting.delete(go);
    };
    waiting.add(go);
    return forget;
  }

  return {
    get count() {
      return waiting.size;
    },
    add,
    release(find) {
      for (const go of [...waiting]) {
        if (!waiting.has(go)) continue;
        const way = find();
        if (way === undefined) return;
        go(way);
      }
    },
  };
}
