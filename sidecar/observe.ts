import type { Observer } from "./forward/front.ts";
import type { Logs } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** Counts each request when it has ended, and logs it if there is a log. */
export const observeBy = (metrics: Metrics, access: Logs["access"]): Observer => ({
  wantsPath: access !== undefined,
  ended(passage) {
    metrics.count(passage);
    access?.(passage);
  },
});
