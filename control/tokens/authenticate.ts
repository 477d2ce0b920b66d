import { fail } from "../../common/errors.ts";
import { bearerOf } from "../access/bearer.ts";
import { digestOf } from "../access/digest.ts";
import type { Authenticator } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import { tokenPrefix } from "./schema.ts";
import { findTokenByDigest, setLastUsed } from "./store.ts";

/** The instant of the last use is written down this often at most. */
const noteUseMs = 60_000;

/** Reads tokens of service accounts; each call looks the token up, so an end of it is heard at once. */
export const tokensOf =
  (ctx: Ground): Authenticator =>
  async ({ headers }) => {
    const secret = bearerOf(headers);
    if (!secret?.startsWith(tokenPrefix)) return undefined;
    const token = await findTokenByDigest(ctx.db, digestOf(secret));
    const now = ctx.now().getTime();
    if (token === undefined)
      fail("AuthenticationError", "unknown token; it may have been rotated or deleted");
    const { id, name, expiresAt, lastUsedAt, known } = token;
    if (expiresAt !== null && expiresAt <= now)
      fail(
        "AuthenticationError",
        `token ${name} expired at ${new Date(expiresAt).toISOString()}; rotate it to get a new one`,
      );
    if (lastUsedAt === null || now - lastUsedAt >= noteUseMs)
      ctx
        .batch((tx) => setLastUsed(tx, id, now))
        .catch((err: unknown) =>
          ctx.log.warn({ err, tokenId: id }, "use of a token not written down"),
        );
    return { userId: known.user.id, credential: `token ${name}`, known };
  };
