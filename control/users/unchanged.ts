import { fail } from "../../common/errors.ts";
import { digestOf } from "../access/digest.ts";
import type { Call } from "../bind.ts";
import type { Connection } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { isSessionCredential } from "../sessions/schema.ts";
import { findSession } from "../sessions/store.ts";
import { roleNow } from "./roles.ts";

/** A caller as its call was let in. */
export type Admitted = Pick<Call, "user" | "role" | "credential" | "origin">;

/**
 * Throws where the role or the session of a caller has changed since its call was let in. For calls that
 * give access: it must not be given with rights that were taken away meanwhile.
 */
export async function requireUnchanged(
  ctx: Ground,
  tx: Connection,
  { user, role, credential, origin }: Admitted,
): Promise<void> {
  const now = await roleNow(tx, user.id);
  if (now === undefined) fail("AuthenticationError", `user ${user.name} was deleted`);
  if (now !== role)
    fail(
      "PermissionDeniedError",
      `the role of ${user.name} was changed meanwhile, from ${role} to ${now}`,
    );
  const session = origin?.session ?? null;
  if (session === null || !isSessionCredential(credential)) return;
  const found = await findSession(tx, digestOf(session), ctx.now().getTime());
  if (found === undefined) fail("AuthenticationError", "this login has ended meanwhile");
}
