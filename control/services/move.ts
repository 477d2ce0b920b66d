import { type ServiceStatus, serviceMachine } from "../../contract/statuses.ts";
import type { Ground } from "../ground.ts";
import { move } from "../move.ts";
import { narrate } from "./narration.ts";
import type { Service } from "./schema.ts";
import { findService, setService } from "./store.ts";

/**
 * Moves a service to a status, by way of REPLICA_INIT where its balancer has just begun to run. Where
 * it has that, only why is noted. Does nothing once something else is wanted of the service.
 */
export async function moveService(
  ctx: Ground,
  service: Pick<Service, "id" | "wanted">,
  to: ServiceStatus,
  reason: string,
): Promise<void> {
  for (;;) {
    const now = await findService(ctx.db, service.id);
    if (now === undefined || now.wanted !== service.wanted) return;
    if (now.status === to) return noteReason(ctx, now, reason);
    const next = serviceMachine.allows(now.status, to) ? to : "REPLICA_INIT";
    const readyAt = next === "READY" ? ctx.now().getTime() : null;
    const isMoved = await move(ctx, serviceMachine, now, next, reason, {
      also: (tx) => setService(tx, now.id, { reason, readyAt }),
    });
    if (isMoved) narrate(ctx, now.id, `${next}: ${reason}`);
  }
}

async function noteReason(ctx: Ground, { id, ...now }: Service, reason: string): Promise<void> {
  if (now.reason !== reason) await ctx.batch((tx) => setService(tx, id, { reason }));
}
