import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { bearerSessionOf, sessionSecretOf } from "../access/cookies.ts";
import { digestOf } from "../access/digest.ts";
import type { Authenticator } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import { sessionCredential } from "./schema.ts";
import { findSession } from "./store.ts";

/**
 * Reads sessions of browsers and command lines. A browser whose session has ended is one that has not
 * logged in yet.
 */
export const sessionsOf =
  (ctx: Ground): Authenticator =>
  async ({ headers }) => {
    const secret = sessionSecretOf(headers);
    if (secret === null) return undefined;
    const session = await findSession(ctx.db, digestOf(secret), ctx.now().getTime());
    if (session !== undefined) {
      const { userId, method, known } = session;
      return { userId, credential: sessionCredential(method), known };
    }
    if (bearerSessionOf(headers) !== null)
      fail("AuthenticationError", `this login has ended; log in again: \`${product.word} login\``);
    return undefined;
  };
