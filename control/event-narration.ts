import { narrate as narrateCluster } from "./clusters/provision-log.ts";
import type { Connection } from "./db/open.ts";
import { eventsOf } from "./events.ts";
import type { Ground } from "./ground.ts";
import { narrate as narrateJob } from "./jobs/narration.ts";
import { narrate as narrateService } from "./services/narration.ts";

/** Where people read what happened to a thing. */
const narrations: Readonly<Record<string, typeof narrateCluster>> = {
  cluster: narrateCluster,
  service: narrateService,
  managed_job: narrateJob,
};

/** Says in the log of its thing, and in ours, what a committed transaction remarked. */
export function narrateEvents(ctx: Ground, tx: Connection): void {
  for (const { noun, id, to, reason } of eventsOf(tx)) {
    if (to !== undefined) continue;
    ctx.log.info({ noun, id, reason }, "remark");
    try {
      narrations[noun]?.(ctx, id, reason);
    } catch (err) {
      ctx.log.warn({ err, noun, id }, "an event is missing from its narration");
    }
  }
}
