import { toAppError } from "../../common/errors.ts";
import {
  failTooOften,
  networkOf,
  openMinuteLimit,
  openRateLimit,
} from "../../common/rate-limit.ts";
import type { Identity } from "../access/identity.ts";
import type { Context } from "../context.ts";

/** How often callers may call. */
export interface Pace {
  /** Counts a call, once however long it takes; throws `RateLimitError` for one too many. */
  called(identity: Identity): void;
  /**
   * Throws why credentials were refused, or `RateLimitError` where an address has sent too many wrong
   * ones. Right ones always work: others may call from the same address.
   */
  failed(address: string, error: unknown): never;
}

/** Calls are counted by user, over ten seconds. */
const overSeconds = 10;

/** Opens the count of calls; it lives in memory. */
export function openPace(ctx: Pick<Context, "config" | "now">): Pace {
  const { callsPerSecond, loginsPerMinute } = ctx.config;
  const calls =
    callsPerSecond > 0
      ? openRateLimit({
          perSecond: callsPerSecond,
          burst: Math.max(1, callsPerSecond * overSeconds),
          now: () => ctx.now().getTime(),
        })
      : undefined;
  const failures = openMinuteLimit(loginsPerMinute, ctx);

  return {
    called({ user }) {
      const waitMs = calls?.take(user.id) ?? 0;
      if (waitMs > 0)
        failTooOften(`${user.name} calls more often than ${callsPerSecond} times a second`, waitMs);
    },
    failed(address, error) {
      const isWrong = toAppError(error).type === "AuthenticationError";
      const waitMs = isWrong ? failures.take(networkOf(address)) : 0;
      if (waitMs > 0) failTooOften(`too many wrong credentials came from ${address}`, waitMs);
      throw error;
    },
  };
}
