import type { Observer } from "./forward/front.ts";
import type { AccessLog } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** Counts each request when it has ended, and logs it if there is a log. */
export const observeBy = (metrics: Metrics, access: AccessLog | undefined): Observer => ({
  wantsPath: access !== undefined,
  ended(passage) {
    metrics.count(passage);
    access?.write(passage);
  },
});
