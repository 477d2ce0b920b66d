import { createHash } from "node:crypto";
import { AppError, fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import type { authOperations } from "../../contract/operations/auth.ts";
import { sessionCookie } from "../access/cookies.ts";
import { localUserId } from "../access/identity.ts";
import { addAudit } from "../audit/store.ts";
import type { Call } from "../bind.ts";
import type { Queries } from "../db/open.ts";
import type { Ground } from "../ground.ts";
import { findUser } from "../users/store.ts";
import { requireUnchanged } from "../users/unchanged.ts";
import { auditRefusedLogin, beginSession, type LoggedIn, loginEntry } from "./begin.ts";
import { methodOf } from "./schema.ts";
import { findApprover, setApproval, takeApproval } from "./store.ts";

const approvedForMs = 300_000;

/** Lets the client that made a challenge log in as the caller, once, within five minutes. */
export async function approve(
  ctx: Ground,
  { code_challenge: challenge }: InputOf<typeof authOperations.authorize>,
  call: Call,
): Promise<{ status: "authorized" }> {
  const user = personOf(call);
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    const refusal = new AppError("ValueError", noChallenge);
    await auditRefusedLogin(ctx, user, refusal, "login.approve");
    throw refusal;
  }
  const expiresAt = ctx.now().getTime() + approvedForMs;
  await ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    await setApproval(tx, { challenge, userId: user.userId, method: user.method, expiresAt });
    await addAudit(tx, loginEntry(ctx, "login.approve", user));
  });
  return { status: "authorized" };
}

const noChallenge =
  "code_challenge: expected 43 characters, the SHA-256 of a verifier as base64url";

/** The token of the login that the maker of a verifier had approved. */
export async function fetchToken(
  ctx: Ground,
  { code_verifier: verifier }: InputOf<typeof authOperations.token>,
  { origin }: Call,
): Promise<{ token: string }> {
  if (!verifier)
    fail("ValueError", "code_verifier: send the value that the challenge was made from");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const address = origin?.address ?? "";
  // Clients ask every second.
  const approver = await findApprover(ctx.db, challenge);
  if (approver === undefined) {
    // The challenge is in the address of a page, and no secret.
    const exposed = await findApprover(ctx.db, verifier);
    if (exposed === undefined) return fail("NotFoundError", "this login has not been approved yet");
    return refuseFetch(ctx, exposed, address, "the challenge was sent in place of its verifier");
  }
  const token = await ctx.batch(async (tx) => {
    const approval = await takeApproval(tx, challenge, ctx.now().getTime());
    if (approval === undefined) return undefined;
    const userName = await nameOf(ctx, approval.userId, tx);
    const secret = await beginSession(ctx, tx, { ...approval, userName, address });
    return tokenOf(approval.userId, secret);
  });
  if (token === undefined) return refuseFetch(ctx, approver, address, ended);
  return { token };
}

const ended =
  "this login was already fetched, or not fetched within five minutes; start another one";

/** Throws `NotFoundError`, which is written down: somebody may have got hold of what is not theirs. */
async function refuseFetch(
  ctx: Ground,
  approverId: string,
  address: string,
  why: string,
): Promise<never> {
  const refusal = new AppError("NotFoundError", why);
  const userName = await nameOf(ctx, approverId, ctx.db);
  await auditRefusedLogin(ctx, { userName, method: "client", address }, refusal);
  throw refusal;
}

const nameOf = async ({ config }: Ground, id: string, db: Queries) =>
  id === localUserId ? config.localUserName : ((await findUser(db, id))?.name ?? id);

/** A token of a session of the caller's own, for a client that waits for it or a person who copies it. */
export const makeToken = (ctx: Ground, call: Call): Promise<string> => {
  const user = personOf(call);
  return ctx.batch(async (tx) => {
    await requireUnchanged(ctx, tx, call);
    return tokenOf(user.userId, await beginSession(ctx, tx, user));
  });
};

/** What clients of this protocol take for a login: cookies to send along. */
const tokenOf = (user: string, secret: string): string =>
  Buffer.from(JSON.stringify({ v: 1, user, cookies: { [sessionCookie]: secret } })).toString(
    "base64",
  );

/** The caller, if it is a person: a session of a service account would outlive the end of its token. */
function personOf({ user, credential, origin }: Call): LoggedIn {
  if (credential.startsWith("token "))
    fail("PermissionDeniedError", "a service account cannot log in elsewhere; use its token there");
  const address = origin?.address ?? "";
  return { userId: user.id, userName: user.name, method: methodOf(credential), address };
}
