import { fail } from "../../common/errors.ts";
import type { Role } from "../../contract/roles.ts";
import { seconds } from "../wire/fields.ts";
import type { Token } from "./schema.ts";

const dayMs = 86_400_000;
const daysAtMost = 36_500;
/** What an expired token is rotated for, if nothing else is said. */
const usualDays = 30;

/** When something ends that begins now; 0 days is never. Throws `ValueError`. */
export function expiryAfter(now: number, days: number): number | null {
  if (days < 0 || days > daysAtMost)
    fail("ValueError", `a token expires in up to ${daysAtMost} days; 0 is never`);
  return days === 0 ? null : now + days * dayMs;
}

/** When a token that is rotated now ends, if its time is to stay as it is. */
export const sameExpiry = ({ expiresAt }: Token, now: number): number | null =>
  expiresAt === null || expiresAt > now ? expiresAt : expiryAfter(now, usualDays);

/** A token as the wire lists it. */
export const toRecord = (token: Token & { readonly role: Role }) => ({
  token_id: token.id,
  token_name: token.name,
  created_at: seconds(token.createdAt),
  last_used_at: seconds(token.lastUsedAt),
  expires_at: seconds(token.expiresAt),
  creator_user_hash: token.creatorId,
  service_account_user_id: token.userId,
  creator_name: token.creatorName,
  service_account_name: token.name,
  service_account_roles: [token.role],
});

/** The one answer that shows a secret. */
export const secretOf = ({ id, name, userId, expiresAt }: Token, secret: string) => ({
  token_id: id,
  token_name: name,
  token: secret,
  expires_at: seconds(expiresAt),
  service_account_user_id: userId,
  message: "keep the token now: it is not shown again",
});
