import { fail, toAppError } from "../../common/errors.ts";
import {
  failTooOften,
  networkOf,
  openMinuteLimit,
  type RateLimit,
} from "../../common/rate-limit.ts";
import type { Ground } from "../ground.ts";
import { verifyPassword } from "../users/passwords.ts";
import type { Account } from "../users/schema.ts";
import { auditRefusedLogin } from "./begin.ts";

/** A name and a password, and where they came from. */
export interface Given {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

const limits = new WeakMap<Ground["config"], RateLimit>();

/** One for each control plane of this process; names and addresses begin differently. */
function limitOf(ctx: Ground): RateLimit {
  const { config } = ctx;
  const limit = limits.get(config) ?? openMinuteLimit(config.loginsPerMinute, ctx);
  limits.set(config, limit);
  return limit;
}

/**
 * The user whose name and password these are. Throws `AuthenticationError`, and `RateLimitError` after
 * too many failures of the name or the address; either is written down.
 */
export async function checkPassword(ctx: Ground, given: Given): Promise<Account> {
  try {
    return await check(ctx, given);
  } catch (error) {
    const { name: userName, address } = given;
    await auditRefusedLogin(ctx, { userName, method: "password", address }, toAppError(error));
    throw error;
  }
}

async function check(ctx: Ground, { name, password, address }: Given): Promise<Account> {
  const limit = limitOf(ctx);
  const keys = [`name ${name.slice(0, 256)}`, `from ${networkOf(address)}`];
  // Before it is known how they end, so that many at once are not more than one after the other.
  const waits = keys.map((key) => limit.take(key));
  const waitMs = Math.max(...waits);
  const giveBack = () => {
    for (const [at, key] of keys.entries()) if (waits[at] === 0) limit.giveBack(key);
  };
  if (waitMs > 0) {
    giveBack();
    failTooOften("too many logins have failed", waitMs);
  }
  const user = await verifyPassword(ctx, name, password).catch((error) => {
    giveBack();
    throw error;
  });
  if (user === undefined) return fail("AuthenticationError", "wrong name or password");
  giveBack();
  return user;
}
