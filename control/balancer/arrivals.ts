import { arrivalSeconds } from "../../contract/balancer-api.ts";

/** Counts what arrives, second by second. */
export interface Arrivals {
  /** All that ever came. */
  readonly total: number;
  count(now: number): void;
  /** How many came in each of the last whole seconds, the newest last. */
  list(now: number): number[];
}

/** Starts to count; seconds before now are not in the list. */
export function openArrivals(startedAt: number): Arrivals {
  const first = secondOf(startedAt);
  const counts = new Uint32Array(arrivalSeconds + 1);
  let latest = first;
  let total = 0;

  /** Forgets what is older than the ring has room for. */
  function turnTo(second: number): void {
    const from = Math.max(latest + 1, second - counts.length + 1);
    for (let at = from; at <= second; at += 1) counts[at % counts.length] = 0;
    latest = Math.max(latest, second);
  }

  return {
    get total() {
      return total;
    },
    count(now) {
      total += 1;
      turnTo(secondOf(now));
      const at = latest % counts.length;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    list(now) {
      turnTo(secondOf(now));
      const length = Math.min(arrivalSeconds, latest - first);
      return Array.from(
        { length },
        (_, index) => counts[(latest - length + index) % counts.length] ?? 0,
      );
    },
  };
}

const secondOf = (ms: number): number => Math.floor(ms / 1_000);
