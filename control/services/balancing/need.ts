import { AppError } from "../../../common/errors.ts";
import type { Context } from "../../context.ts";
import { failureOf } from "../../requests/schema.ts";
import { moveService } from "../move.ts";
import type { Service } from "../schema.ts";
import { setService } from "../store.ts";

/**
 * Does what a service needs its balancer for, and throws as that does. Why it cannot be is kept, and
 * the service is CONTROLLER_FAILED; one that only does not answer may be busy.
 */
export async function needBalancer(
  ctx: Context,
  service: Service,
  work: Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await work;
  } catch (error) {
    const ending = failureOf(error);
    const isAway = error instanceof AppError && error.type === "UnreachableError";
    if (signal.aborted || isAway || ending.status !== "FAILED") throw error;
    await setService(ctx.db, service.id, { problem: ending.failure });
    await moveService(ctx, service, "CONTROLLER_FAILED", ending.failure.message);
    throw error;
  }
}
