import { randomBytes } from "node:crypto";
import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { tokenOperations as rows } from "../../contract/operations/tokens.ts";
import { covers, lowerOf, type Role } from "../../contract/roles.ts";
import { listedBy } from "../../contract/spelling.ts";
import { digestOf } from "../access/digest.ts";
import { type Bound, bind, type Call } from "../bind.ts";
import type { Connection, Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { endSessionsOf } from "../sessions/store.ts";
import { newUser, randomId } from "../users/new-user.ts";
import { removeUser } from "../users/remove.ts";
import { giveRole, readRole, roleNow } from "../users/roles.ts";
import { addUser, findUser } from "../users/store.ts";
import { requireUnchanged } from "../users/unchanged.ts";
import { seconds } from "../wire/fields.ts";
import { type Token, tokenPrefix } from "./schema.ts";
import { addToken, findToken, listTokens, setSecret } from "./store.ts";

/** Service accounts and their tokens; that only creators and administrators change one is a rule of the rows. */
export const tokenOperations: Bound[] = [
  bind(rows.list, async ({ db }) => (await listTokens(db)).map(toRecord)),
  bind(rows.create, createToken),
  bind(rows.delete, deleteToken),
  bind(rows.getRole, async ({ db }, { token_id: id }) => {
    const { token, account } = await getAccount(db, id);
    return { token_id: id, service_account_user_id: token.userId, roles: [account.role] };
  }),
  bind(rows.updateRole, updateRole),
  bind(rows.rotate, rotateToken),
];

const namePattern = /^[A-Za-z][\w. -]{0,99}$/;

const newSecret = () => `${tokenPrefix}${randomBytes(32).toString("base64url")}`;

async function createToken(
  ctx: Ground,
  { token_name, role, expires_in_days: days }: InputOf<typeof rows.create>,
  call: Call,
) {
  const { user: creator } = call;
  const name = token_name.trim();
  if (!namePattern.test(name))
    fail(
      "ValueError",
      "the name of a token begins with a letter, and has up to 100 letters, digits, spaces, and ._-",
    );
  const given = role === null ? undefined : readRole(role);
  const secret = newSecret();
  const createdAt = ctx.now().getTime();
  const token: Token = {
    ...{ id: randomId(), name, userId: `sa-${randomId()}`, createdAt, lastUsedAt: null },
    ...{ creatorId: creator.id, creatorName: creator.name },
    expiresAt: expiryAfter(createdAt, days ?? 0),
  };
  await ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    const accountRole = given ?? lowerOf(ctx.config.defaultRole, call.role);
    requireWithin(accountRole, call.role, token);
    await addAccount(ctx, tx, token, accountRole);
    if (!(await addToken(tx, token, digestOf(secret)))) fail("ValueError", takenBy(name));
  });
  return { ...secretOf(token, secret), creator_user_id: creator.id };
}

const takenBy = (name: string) => `there is a token ${name} already`;

/** No person can have the name of a service account, and so pass for it or be taken for it. */
async function addAccount(
  ctx: Ground,
  tx: Connection,
  { userId: id, name }: Token,
  role: Role,
): Promise<void> {
  const account = newUser(ctx, { id, name: `sa:${name}`, kind: "sa", role });
  if (!(await addUser(tx, account))) fail("ValueError", takenBy(name));
}

async function deleteToken(ctx: Ground, { token_id: id }: InputOf<typeof rows.delete>) {
  return ctx.batch(async (tx) => {
    const { token, account } = await getAccount(tx, id);
    await removeUser(tx, account, `token ${token.name}`);
    return { message: `token ${token.name} and its service account are deleted` };
  });
}

/** An account gets no role beyond that of its creator; nor beyond the caller's, which is a rule of the row. */
async function updateRole(
  ctx: Ground,
  { token_id: id, role: word }: InputOf<typeof rows.updateRole>,
  call: Call,
) {
  const role = readRole(word);
  return ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    const { token, account } = await getAccount(tx, id);
    requireWithin(role, await creatorRoleOf(tx, token), token);
    await giveRole(tx, account, role);
    return {
      message: `the service account of token ${token.name} has the role ${role}`,
      token_id: id,
      service_account_user_id: token.userId,
      new_role: role,
    };
  });
}

/** Sessions that the old secret opened end with it. */
async function rotateToken(
  ctx: Ground,
  { token_id: id, expires_in_days: days }: InputOf<typeof rows.rotate>,
  call: Call,
) {
  const secret = newSecret();
  const createdAt = ctx.now().getTime();
  return ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    const { token } = await getAccount(tx, id);
    const expiresAt = days === null ? sameExpiry(token, createdAt) : expiryAfter(createdAt, days);
    await setSecret(tx, id, digestOf(secret), { createdAt, expiresAt });
    await endSessionsOf(tx, token.userId);
    return secretOf({ ...token, expiresAt }, secret);
  });
}

/** The token with this id and its account; throws `NotFoundError`. */
async function getAccount(db: Queries, id: string) {
  const token = await findToken(db, id);
  const account = token && (await findUser(db, token.userId));
  if (token === undefined || account === undefined)
    return fail("NotFoundError", `there is no token ${id}; ${listedBy("tokens list")}`);
  return { token, account };
}

async function creatorRoleOf(db: Queries, { creatorId, creatorName }: Token): Promise<Role> {
  const role = await roleNow(db, creatorId);
  return role ?? fail("AuthenticationError", `user ${creatorName} was deleted`);
}

function requireWithin(role: Role, limit: Role, { creatorName }: Token): void {
  if (covers(limit, role)) return;
  fail(
    "PermissionDeniedError",
    `${creatorName} has the role ${limit}; a service account gets no higher role than its creator's`,
  );
}

const dayMs = 86_400_000;
const daysAtMost = 36_500;
/** What an expired token is rotated for, if nothing else is said. */
const usualDays = 30;

/** When something ends that begins now; 0 days is never. Throws `ValueError`. */
function expiryAfter(now: number, days: number): number | null {
  if (days < 0 || days > daysAtMost)
    fail("ValueError", `a token expires in up to ${daysAtMost} days; 0 is never`);
  return days === 0 ? null : now + days * dayMs;
}

/** When a token that is rotated now ends, if its time is to stay as it is. */
const sameExpiry = ({ expiresAt }: Token, now: number): number | null =>
  expiresAt === null || expiresAt > now ? expiresAt : expiryAfter(now, usualDays);

/** A token as the wire lists it. */
const toRecord = (token: Token & { readonly role: Role }) => ({
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
const secretOf = ({ id, name, userId, expiresAt }: Token, secret: string) => ({
  token_id: id,
  token_name: name,
  token: secret,
  expires_at: seconds(expiresAt),
  service_account_user_id: userId,
  message: "keep the token now: it is not shown again",
});
