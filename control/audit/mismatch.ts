import { readEnv } from "../../common/product.ts";
import { openMinuteLimit } from "../../common/rate-limit.ts";
import type { Ground } from "../ground.ts";
import { findUser } from "../users/store.ts";
import { type AuditedCall, recordRefused } from "./entry.ts";

/** The name under which the log has calls that named another user as their caller. */
export const mismatchName = "identity.mismatch";

const idAtMost = 100;

/**
 * Notes calls whose input names another user as their caller, which changes nothing: they are carried out
 * as the user of their credentials. Once a minute for each caller, as clients send the same with each call.
 * Clients that have not logged in make ids of their own up, which name nobody.
 */
export function openMismatches(ctx: Ground) {
  const noted = openMinuteLimit(1, ctx);

  return async (call: AuditedCall): Promise<void> => {
    const claimed = claimedIn(call.input);
    const { user, credential } = call.identity ?? {};
    if (claimed === "" || user === undefined || claimed === user.id) return;
    if (claimed.length > idAtMost || noted.take(`${user.id} ${claimed}`) > 0) return;
    const other = await findUser(ctx.db, claimed);
    if (other === undefined) return;
    await recordRefused(ctx, {
      ...{ userId: user.id, userName: user.name, credential: credential ?? "" },
      ...{ address: call.address, operation: mismatchName, requestId: call.requestId },
      subject: `user ${other.id} (${other.name})`,
      reason: `${call.row.name} named this user as its caller, and was carried out as ${user.name}`,
    });
  };
}

/** The id that a client says its user has; empty where it says none. */
function claimedIn(input: AuditedCall["input"]): string {
  const { env_vars = {}, user_hash = "" } = (input ?? {}) as {
    env_vars?: Record<string, string>;
    user_hash?: string;
  };
  return readEnv(env_vars, "USER_ID") ?? user_hash;
}
