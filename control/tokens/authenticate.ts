import { createHash } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { Authenticator } from "../access/identity.ts";
import type { Ground } from "../ground.ts";
import { findTokenByDigest, setLastUsed } from "./store.ts";

/** Existing clients of this protocol take no other tokens than those that begin with `sky_`. */
export const tokenPrefix = "sky_outrigger_";
/** The instant of the last use is written down this often at most. */
const noteUseMs = 60_000;

/** What the database holds of a secret. */
export const digestOf = (secret: string): Uint8Array =>
  createHash("sha256").update(secret).digest();

/** Reads tokens of service accounts; each call looks the token up, so an end of it is heard at once. */
export const tokensOf =
  (ctx: Ground): Authenticator =>
  async ({ headers }) => {
    const [, secret] = /^bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
    if (!secret?.startsWith(tokenPrefix)) return undefined;
    const token = await findTokenByDigest(ctx.db, digestOf(secret));
    const now = ctx.now().getTime();
    if (token === undefined)
      fail("AuthenticationError", "this token is not known; it may have been rotated or deleted");
    const { id, name, userId, expiresAt, lastUsedAt } = token;
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
    return { userId, credential: `token ${name}` };
  };
