import type { BalancerReport } from "../../contract/balancer-api.ts";

/** What reports are made from. */
export interface Source {
  report(): BalancerReport;
  /** Are called with each change. */
  readonly listeners: Set<() => void>;
  readonly arrivals: { readonly total: number };
}

const lookEveryMs = 1_000;
const quietLooksAtMost = 5;

/**
 * A report now, with each change, every second while requests come or are under way, and else every
 * five seconds, until the signal aborts.
 */
export async function* reportsOf(
  { report, listeners, arrivals }: Source,
  signal: AbortSignal,
): AsyncGenerator<BalancerReport> {
  let hasChanged = false;
  let wake = () => {};
  const listen = () => {
    hasChanged = true;
    wake();
  };
  const look = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, lookEveryMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  let [before, total] = [0, 0];
  listeners.add(listen);
  signal.addEventListener("abort", listen);
  try {
    while (!signal.aborted) {
      hasChanged = false;
      [before, total] = [total, arrivals.total];
      const told = report();
      yield told;
      // What came just before this report is in the next one, once its second is over.
      const isBusy = () => told.open > 0 || report().open > 0 || arrivals.total !== before;
      for (let looks = 0; !hasChanged && looks < quietLooksAtMost; looks += 1) {
        await look();
        if (isBusy()) break;
      }
    }
  } finally {
    listeners.delete(listen);
  }
}
