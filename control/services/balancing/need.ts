import { AppError } from "../../../common/errors.ts";
import type { Ground } from "../../ground.ts";
import { failureOf } from "../../requests/schema.ts";
import { moveService } from "../move.ts";
import type { Service } from "../schema.ts";
import { setService } from "../store.ts";

/**
 * What a service cannot do without, such as its balancer; throws as that does. Why it cannot be is kept,
 * and the service is CONTROLLER_FAILED; a balancer that only does not answer may be busy.
 */
export async function need<T>(
  ctx: Ground,
  service: Service,
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const ending = failureOf(error);
    const isAway = error instanceof AppError && error.type === "UnreachableError";
    if (signal.aborted || isAway || ending.status !== "FAILED") throw error;
    await ctx.batch((tx) => setService(tx, service.id, { problem: ending.failure }));
    await moveService(ctx, service, "CONTROLLER_FAILED", ending.failure.message);
    throw error;
  }
}
